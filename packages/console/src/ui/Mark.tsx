/** The mark of the product. */
export const Mark = () => (
  <a class="mark" href="../ui">
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M9 23V9h7a4.5 4.5 0 0 1 0 9H9m7 0 6 5" />
    </svg>
    Reins
  </a>
)
