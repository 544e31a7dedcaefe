import { ThreadCard } from "../request/ThreadCard.js"
import { type Line, placeKey, placeOf } from "./DiffRows.js"
import type { ThreadsBeside } from "./ThreadPlaces.js"

/** The threads about a line, below it. */
export const ThreadsOf = ({
  beside,
  line,
  path
}: {
  readonly beside: ThreadsBeside
  readonly line: Line
  readonly path: string
}) => {
  const place = placeOf(path, line)
  const found = place === undefined ? undefined : beside.get(placeKey(place))
  return found === undefined ? null : found.map((thread) => <ThreadCard key={thread.id} thread={thread} />)
}
