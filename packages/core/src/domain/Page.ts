import { Schema } from "effect"

/** The schema of a page of a list. */
export const Page = <A, I, R>(identifier: string, item: Schema.Schema<A, I, R>) =>
  Schema.Struct({ items: Schema.Array(item), next_cursor: Schema.NullOr(Schema.String) }).annotations({ identifier })

/** A page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** The cursor of the next page; null on the last page. */
  readonly next_cursor: string | null
}

/** The page of a list that a caller wants. */
export interface PageRequest {
  /** 1 to 200; 50 when absent. */
  readonly limit?: number
  /** The `next_cursor` of the page before. Any other text fails with `invalid_cursor`. */
  readonly cursor?: string
}

/** A page of a list that has the items in one state only, where a state is given. */
export interface StatePageRequest<State extends string> extends PageRequest {
  readonly state?: State
}
