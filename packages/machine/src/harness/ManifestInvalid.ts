import { Data } from "effect"

/** A manifest cannot be used. The message names where it comes from and what is wrong with which field. */
export class ManifestInvalid extends Data.TaggedError("ManifestInvalid")<{
  /** The path of a file, or another name of the place. */
  readonly source: string
  /** The wrong fields, each with its fault. */
  readonly problem: string
}> {
  override get message() {
    return `The manifest ${this.source} cannot be used: ${this.problem}`
  }
}
