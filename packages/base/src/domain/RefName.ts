import { Schema } from "effect"

// The bytes and sequences that git itself refuses in the name of a branch or tag (git-check-ref-format(1)).
const forbiddenByGit = /[ ~^:?*[\\]|\.\.|@\{|\.$/
const forbidden = /\p{Surrogate}|^-|^HEAD$/u

const hasControl = (name: string): boolean =>
  [...name].some((character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x20 || code === 0x7f
  })

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** A file of git with the name and `.lock` at its end has to fit into the 255 bytes of a file name. */
const maxComponentBytes = 250
const maxBytes = 1_000

const isGitComponent = (part: string): boolean => part !== "" && !part.startsWith(".") && !part.endsWith(".lock")

/** True for what git accepts behind `refs/`, whatever commands take it for. */
const isOfGit = (name: string): boolean =>
  !forbiddenByGit.test(name) && !hasControl(name) && name.split("/").every(isGitComponent)

/** True for a full name that git itself accepts, as `refs/heads/main`. */
export const isGitRefName = (name: string): boolean => name.startsWith("refs/") && isOfGit(name)

/**
 * True for the name of a branch or tag that git accepts and that no command takes for an option: at most 1,000 bytes, and 250 bytes between
 * two slashes.
 */
export const isRefName = (name: string): boolean =>
  bytesOf(name) <= maxBytes &&
  !forbidden.test(name) &&
  isOfGit(name) &&
  name.split("/").every((part) => bytesOf(part) <= maxComponentBytes)

/** The name of a branch that was given as `refs/heads/<name>` or by its name alone. */
export const branchName = (given: string): string => given.replace(/^refs\/heads\//, "")

/** The rule that no valid name breaks, for the answer to a name that breaks it. */
export const refNameRule =
  "a name that git accepts: no blanks, no `~ ^ : ? * [ \\`, no `..`, `@{` or `//`, no part that begins with a dot or ends with `.lock`, " +
  "no `-` or `/` at its start, no `/` or `.` at its end, and not `HEAD`"

const maxLength = 1_000

/** The name of a branch, as requests give it. */
export const BranchInput = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(maxLength),
  Schema.filter((name) => isRefName(branchName(name)), {
    message: () => `Input should be a valid branch name: ${refNameRule}`
  })
)

/** The name of a branch or tag or the id of a commit, as requests give it. */
export const RefInput = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(maxLength),
  Schema.filter((name) => isRefName(branchName(name)), {
    message: () => `Input should be a valid branch, tag or commit: ${refNameRule}`
  })
)
