import { field } from "@reins/base/domain/Field"
import { Effect, Schema } from "effect"
import { type ConnectionKind, credentialOf, Origin, Secret } from "../ConnectionKind.js"
import { inconclusive } from "../Verdict.js"

const noUrl = inconclusive(
  "no_endpoint",
  "unverified",
  "A credential for git names no repository, so it cannot be tried by itself. A session that clones with it shows if it is accepted."
)

/** A name and a password for git, for the repositories of one origin. */
export const plainGit: ConnectionKind = {
  kind: "git",
  credential: credentialOf(
    Schema.Struct({
      origin: field(
        Origin("https:", "http:"),
        "The home of the credential: protocol, host and port of the repositories, as in `https://git.example`. It is sent nowhere else."
      ),
      username: field(
        Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
        "The name that git logs in with, at most 255 characters."
      ),
      password: field(Secret, "The password or token that git logs in with. It never comes back.")
    })
  ),
  settings: new Set(["origin", "username"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: () => Effect.succeed(noUrl)
}

/** A key for git through SSH, for the repositories of one host. */
export const sshGit: ConnectionKind = {
  kind: "git_ssh",
  credential: credentialOf(
    Schema.Struct({
      origin: field(
        Origin("ssh:"),
        "The home of the key, as in `ssh://git.example` or `ssh://git.example:2222`. It is used nowhere else."
      ),
      known_hosts: field(
        Schema.String.pipe(Schema.minLength(1), Schema.maxLength(20_000)),
        "The lines of a `known_hosts` file for that host. No other host key is believed."
      ),
      private_key: field(Secret, "The private key, as the text of its file, without a passphrase. It never comes back.")
    })
  ),
  settings: new Set(["origin", "known_hosts"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: () => Effect.succeed(noUrl)
}
