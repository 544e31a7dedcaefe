/** A place in which a container engine runs for a user without rights. */
export interface EnginePlace {
  readonly name: "podman" | "docker"
  /** The words before a command that runs in the place. */
  readonly launcher: ReadonlyArray<string>
  /** The variables that such a command needs. */
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  readonly gid: number
  /** The number that the user has in its containers. */
  readonly inside: number
  /** The cgroups that the engine can limit containers with; null where it has none. */
  readonly limitedBy: "cgroup_v1" | "cgroup_v2" | null
  /** Runs a command of the engine in the place, and gives its output. */
  readonly engine: (...args: ReadonlyArray<string>) => string
  /** An image with a shell, git and what attempts to get out of a container use, by its digest. */
  readonly image: string
  /** Ends everything that runs there, and removes the place. */
  readonly remove: () => void | Promise<void>
}

export const podmanPlace: () => EnginePlace
