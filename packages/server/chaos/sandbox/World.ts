/** The things around a sandbox that nobody in it may reach, and that the attempts go for. */
export interface Surroundings {
  /** A word that stands in every file, variable and answer that must not be read. */
  readonly canary: string
  readonly dataDir: string
  /** The directory of the session that the attempts run in, and that of a session of another account. */
  readonly ownSession: string
  readonly otherSession: string
  readonly cacheDir: string
  /** Files with the canary: in the home of the service's user, and in directories that everybody may read. */
  readonly files: ReadonlyArray<string>
  /** An empty directory. What appears in it was written from the sandbox, or by a program of the service that the agent has led astray. */
  readonly marks: string
  /** Parts of the lines of /proc/self/mounts that only this machine has. */
  readonly mounts: ReadonlyArray<string>
  readonly server: { readonly pid: number; readonly port: number; readonly main: string }
  /** A process of the same user that only sleeps. */
  readonly sleeper: number
  /** Listeners that say the canary to everybody. */
  readonly tcpPort: number
  readonly tcp6Port: number
  readonly unixSocket: string
  readonly abstractSocket: string
  readonly gatewayPort: number
  /** An address of this machine that is not loopback. */
  readonly address: string
  /** A number that no other process of the machine has among its arguments. */
  readonly lifetime: number
}

/** One way to get out. The script ends with 0 when it has worked. */
export interface Attempt {
  readonly name: string
  readonly script: string
}
