import { Schema } from "effect"

/** A page of a list: `next_cursor` is null on the last one. */
export const Page = <A, I, R>(identifier: string, item: Schema.Schema<A, I, R>) =>
  Schema.Struct({ items: Schema.Array(item), next_cursor: Schema.NullOr(Schema.String) }).annotations({ identifier })

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next_cursor: string | null
}

export interface PageRequest {
  /** 1 to 200; 50 when absent. */
  readonly limit?: number
  /** The `next_cursor` of the page before. */
  readonly cursor?: string
}
