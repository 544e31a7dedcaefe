import type { ApprovalSubject, SubjectEdit, SubjectGap } from "../domain/ApprovalSubject.js"
import { canonicalJson, digestOf } from "./CanonicalJson.js"
import { cutText } from "./CutText.js"
import { bounded } from "./ForeignText.js"
import { blankKeys, blankTokens } from "./Masks.js"

const longestText = 65_536
const longestPath = 4096
const mostCharacters = 262_144
const mostFiles = 200
const mostEdits = 1000
const blank = "[secret]"

/** A subject before it is bounded. Fields that are absent are null or empty. */
export interface SubjectParts
  extends Partial<Pick<ApprovalSubject, "command" | "cwd" | "url" | "tool" | "input" | "edits" | "files">> {
  readonly kind: ApprovalSubject["kind"]
  readonly gaps?: Iterable<SubjectGap>
}

const none = { command: null, cwd: null, url: null, tool: null, input: null, edits: [] } as const

/** Bounds a subject and blanks what looks like a secret in it. Its digest is of the whole, so that it tells changes that nobody sees. */
export const sealSubject = ({ files, gaps: given = [], ...parts }: SubjectParts): ApprovalSubject => {
  const whole = { ...none, ...parts }
  const gaps = new Set(given)
  const texts = new Texts(gaps)
  const subject = {
    kind: whole.kind,
    command: texts.of(whole.command),
    cwd: texts.of(whole.cwd, longestPath),
    url: texts.of(whole.url),
    tool: texts.of(whole.tool, longestPath),
    input: texts.of(whole.input)
  }
  const paths = new Set<string>()
  const edits: Array<SubjectEdit> = []
  for (const edit of whole.edits) {
    paths.add(edit.path)
    if (paths.size > mostFiles || edits.length >= mostEdits || texts.isFull) gaps.add("cut")
    else
      edits.push({
        path: texts.of(edit.path, longestPath),
        old_text: texts.of(edit.old_text),
        new_text: texts.of(edit.new_text),
        line: edit.line
      })
  }
  return {
    ...subject,
    edits,
    files: files ?? paths.size,
    ...countsOf(whole.edits),
    complete: gaps.size === 0,
    gaps: [...gaps].sort(),
    digest: digestOf(canonicalJson({ ...whole, gaps: [...new Set(given)].sort() }))
  }
}

/** Bounds texts by themselves and together, and notes what is missing after that. */
class Texts {
  private left = mostCharacters

  constructor(private readonly gaps: Set<SubjectGap>) {}

  get isFull(): boolean {
    return this.left <= 0
  }

  of<Text extends string | null>(text: Text, longest?: number): Text
  of(text: string | null, longest = longestText): string | null {
    if (text === null) return null
    // A secret that begins before the cut is blanked as a whole.
    const near = bounded(text, 2 * longest)
    const masked = blankTokens(blankKeys(near, blank), blank)
    // Under a blank that looks like a secret anything may hide.
    if (masked !== near) this.gaps.add("masked")
    const most = Math.min(longest, Math.max(0, this.left))
    const shown = cutText(masked, most)
    if (shown !== masked || near !== text) this.gaps.add("cut")
    this.left -= shown.length
    return shown
  }
}

/** The lines of a text, each with its end. */
export const linesWithEnds = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(/(?<=\n)/))

/** The numbers of lines that two lists share at their beginning and at their end. */
export const sharedLines = (old: ReadonlyArray<string>, now: ReadonlyArray<string>) => {
  const least = Math.min(old.length, now.length)
  let first = 0
  while (first < least && old[first] === now[first]) first += 1
  let last = 0
  while (last < least - first && old.at(-1 - last) === now.at(-1 - last)) last += 1
  return { first, last }
}

const countsOf = (edits: ReadonlyArray<SubjectEdit>) => {
  let additions = 0
  let deletions = 0
  for (const { new_text, old_text } of edits) {
    const [old, now] = [linesWithEnds(old_text ?? ""), linesWithEnds(new_text ?? "")]
    const { first, last } = sharedLines(old, now)
    additions += now.length - first - last
    deletions += old.length - first - last
  }
  return { additions, deletions }
}
