/** One part of a list, with where the next one begins. */
export interface Page<Item> {
  /** The items, in the order of the list. */
  readonly items: ReadonlyArray<Item>
  /** Pass it as `cursor` to read on; null at the end. */
  readonly next_cursor: string | null
}

/** A list: `await` gives one page, `for await` gives every item of this page and of those that follow, one page at a time. */
export interface List<Answer, Item> extends Promise<Answer>, AsyncIterable<Item> {
  /** Every item of this page and of those that follow, in the order of the list. Fails as the first page fails that cannot be read. */
  readonly all: () => Promise<ReadonlyArray<Item>>
}

/** A page as the server answers it: by a cursor, by the numbers of events, or all at once. */
interface Answered<Item> {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor?: string | null
  readonly next_after?: number
  readonly has_more?: boolean
}

/** The cursor of the next page; undefined after the last one. */
export const nextOf = (page: Answered<unknown>): object | undefined => {
  if (typeof page.next_cursor === "string") return { cursor: page.next_cursor }
  return page.has_more === true ? { after: page.next_after } : undefined
}

/** The list that a call reads page by page. It begins at once. */
export const listOf = <Item>(read: (more: object) => Promise<Answered<Item>>): List<Answered<Item>, Item> => {
  const first = read({})
  const pages = async function* () {
    for (let page = await first; ; ) {
      yield page.items
      const next = nextOf(page)
      if (next === undefined) return
      page = await read(next)
    }
  }
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      for await (const items of pages()) yield* items
    },
    all: async () => {
      const found: Array<Item> = []
      for await (const items of pages()) found.push(...items)
      return found
    }
  })
}
