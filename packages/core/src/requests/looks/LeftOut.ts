import type { OddElement } from "@reins/base/base/ForeignList"
import { foreignName } from "@reins/base/base/ForeignText"
import type { ForgeView, ViewPart } from "@reins/machine/forge/ForgeView"

// Says what a look could not read of a part that it has read otherwise. Nothing holds by what was left out.

/** A sentence for each part of which something was left out. */
export interface LeftParts {
  readonly checks?: string
  readonly baseChecks?: string
  readonly reviews?: string
  readonly threads?: string
}

/** The elements of the parts, for one and for several. */
const nouns = {
  checks: ["check", "checks"],
  baseChecks: ["check of the base branch", "checks of the base branch"],
  reviews: ["review", "reviews"],
  threads: ["comment", "comments"]
} as const

type Part = keyof typeof nouns

const longestField = 64
const mostNamed = 5

const quoted = ({ at, name }: OddElement): string => (name === null ? `number ${at + 1}` : JSON.stringify(name))
const fieldOf = ({ field }: OddElement): string =>
  field === "" ? "" : ` (field ${JSON.stringify(foreignName(field, longestField))})`

const sentenceOf = (part: Part, odd: ReadonlyArray<OddElement>): string => {
  const [one, several] = nouns[part]
  const [first, ...others] = odd
  if (first === undefined) return `The forge has more ${several} than are read, so not all are known.`
  if (others.length === 0)
    return `The forge tells of the ${one} ${quoted(first)} in a way that is not known${fieldOf(first)}.`
  const named = odd.slice(0, mostNamed).map((each) => `${quoted(each)}${fieldOf(each)}`)
  const more = odd.length > mostNamed ? ` and ${odd.length - mostNamed} more` : ""
  return `The forge tells of ${odd.length} ${several} in a way that is not known: ${named.join(", ")}${more}.`
}

/** A part that is as it was, or was not read, lacks what it lacked before. */
const leftOf = (part: Part, view: ViewPart<unknown> | undefined, before: LeftParts): string | undefined => {
  if (view === undefined) return undefined
  if (view.state !== "read") return before[part]
  return view.complete ? undefined : sentenceOf(part, view.odd)
}

/** The parts that a view left out. `before` is what the view before it left out of the same head. */
export const leftOutOf = (view: ForgeView, before: LeftParts): LeftParts => {
  const parts = ["checks", "baseChecks", "reviews", "threads"] as const
  return Object.fromEntries(
    parts.flatMap((part) => {
      const left = leftOf(part, view[part], before)
      return left === undefined ? [] : [[part, left]]
    })
  )
}
