! Jacobi's iteration, two regions a step.
function jacobi() result(total) bind(c)
  use iso_c_binding, only: c_double
  implicit none
  integer, parameter :: n = 512, steps = 400
  real(c_double) :: total, difference
  real(c_double), save :: a(n, n), b(n, n)
  integer :: i, j, step
  a = 0; a(:, 1) = 1; b = a
  do step = 1, steps
    !$omp parallel do private(i)
    do j = 2, n - 1
      do i = 2, n - 1
        b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
      end do
    end do
    difference = 0
    !$omp parallel do private(i) reduction(max : difference) schedule(dynamic, 16)
    do j = 2, n - 1
      do i = 2, n - 1
        difference = max(difference, abs(a(i, j) - b(i, j)))
        a(i, j) = b(i, j)
      end do
    end do
  end do
  total = sum(a) + difference
end function
