/** A place in which Podman runs as a user without rights. */
export interface PodmanPlace {
  /** The words before a command that runs in the place. */
  readonly launcher: ReadonlyArray<string>
  /** The variables that such a command needs. */
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  readonly gid: number
  /** Runs a command of Podman in the place, and gives its output. */
  readonly podman: (...args: ReadonlyArray<string>) => string
  /** An image with a shell, git and what attempts to get out of a container use, by its digest. */
  readonly image: string
  readonly remove: () => void
}

export const podmanPlace: () => PodmanPlace
