import type { Paged } from "../api/Loading.js"

/** Leads on in a list that has more pages. */
export const More = <A,>({ of }: { readonly of: Paged<A> }) =>
  of.value.value?.next_cursor == null ? null : (
    <p class="middle">
      <button type="button" onClick={of.more}>
        Show more
      </button>
    </p>
  )
