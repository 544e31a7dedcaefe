import { Schema } from "effect"
import { field } from "./Field.js"

/** The schema of a page of a list. */
export const Page = <A, I, R>(identifier: string, item: Schema.Schema<A, I, R>) =>
  Schema.Struct({
    items: field(Schema.Array(item), "The items of the page, in the order of the list."),
    next_cursor: field(Schema.NullOr(Schema.String), "The `cursor` of the next page; null on the last page.")
  }).annotations({ identifier, description: "One page of a list." })

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
