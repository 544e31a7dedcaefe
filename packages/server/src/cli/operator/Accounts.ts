import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Scope } from "@reins/base/domain/Scope"
import { command, entry, flag, group, option, requiredOption } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { passwordFrom } from "@reins/cli/client/Password"
import { attempt } from "@reins/cli/client/Remote"
import { requireYes, yes } from "@reins/cli/client/SessionState"
import { AccountDeletions } from "@reins/core/deletion/AccountDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { toDetails } from "@reins/server/http/validation/Validation"
import { Effect } from "effect"
import * as Installation from "./Installation.js"
import { runningAddress } from "./ServerAddress.js"
import { configOf, installationOptions } from "./Settings.js"
import { setupLinkOf } from "./SetupLink.js"

const email = requiredOption("email", "The address of the account", { value: "address" })

const createAccount = command({
  takes: {
    email,
    passwordStdin: flag("password-stdin", "Read the password from the standard input (else REINS_PASSWORD)"),
    ...installationOptions
  },
  examples: [
    ["reins accounts create --email ann@example.com", "Ask for the password"],
    ["pass show reins | reins accounts create --email ann@example.com --password-stdin", "Take it from a program"]
  ],
  run: ({ email, passwordStdin, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const password = yield* passwordFrom(passwordStdin)
      const account = yield* Effect.provide(
        Effect.flatMap(Accounts, (accounts) => accounts.createVerified({ email, password })),
        Installation.existing(config)
      ).pipe(Effect.mapError(explain))
      yield* Effect.sync(() => process.stdout.write(`${JSON.stringify(account)}\n`))
    })
})

const setupLink = command({
  takes: {
    email: option("email", "Fills in the address of the account", { value: "address" }),
    gateway: option("gateway", "Fills in the base URL of the gateway of models", { value: "url" }),
    ...installationOptions
  },
  examples: [
    ["reins accounts first", "The link for the installation in the working directory"],
    ["reins accounts first --data-dir /var/lib/reins", "The link for another one"],
    ["reins accounts first --email ann@example.com --gateway https://gateway.example/v1", "Leave less to type"]
  ],
  run: ({ email, gateway, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const code = yield* Effect.provide(
        Effect.flatMap(Accounts, (accounts) => accounts.setupCode),
        Installation.existing(config)
      )
      const running = yield* runningAddress(config)
      const publicUrl = running === undefined ? config.publicUrl : new URL(running.public_url)
      if (code === null)
        return yield* new CommandFailed({
          message: "There is an account already. Another one: reins accounts create --email you@example.com"
        })
      yield* Effect.sync(() => process.stdout.write(`${setupLinkOf({ publicUrl }, code, { email, gateway })}\n`))
    })
})

const removeAccount = command({
  takes: { email, yes, ...installationOptions },
  details:
    "Its logins, keys, memberships and mails go, and the workspaces in which nobody else is. The work that it did elsewhere stays. A running server does the work, or the next one that starts.",
  examples: [
    ["reins accounts delete --email ann@example.com", "Delete it, after a question"],
    ["reins accounts delete --email ann@example.com --yes", "Delete it without one"]
  ],
  run: ({ email, yes, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      yield* attempt(() => requireYes(`Delete the account of ${email} for good, with its own workspaces?`, yes))
      const receipt = yield* Effect.provide(
        Effect.gen(function* () {
          const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.get(email)).pipe(
            Effect.mapError(() => new CommandFailed({ message: `There is no account of ${email}.` }))
          )
          return yield* Effect.flatMap(AccountDeletions, (deletions) => deletions.deleteFor(account.id)).pipe(
            Effect.mapError(({ message }) => new CommandFailed({ message }))
          )
        }),
        Installation.existing(config)
      )
      yield* Effect.sync(() => process.stdout.write(`${JSON.stringify(receipt)}\n`))
    })
})

/** `reins accounts` */
export const accounts = group(
  entry("create", "Make an account that can be used at once", createAccount),
  entry("first", "Print the link that makes the first account in a browser", setupLink),
  entry("delete", "Delete an account for good", removeAccount)
)

/** `reins keys create` */
export const createKey = command({
  takes: {
    email,
    name: requiredOption("name", "The purpose of the key"),
    scopes: option("scopes", "read, act, write or admin, with commas between them (admin)"),
    ...installationOptions
  },
  examples: [
    ["reins keys create --email ann@example.com --name laptop", "A key for everything"],
    ["reins keys create --email ann@example.com --name dashboard --scopes read", "A key that only reads"]
  ],
  run: ({ email, name, scopes = "admin", ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const wanted = yield* Effect.forEach(scopes.split(","), readScope)
      const key = yield* Effect.provide(
        Effect.gen(function* () {
          const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.get(email)).pipe(
            Effect.mapError(
              () =>
                new CommandFailed({
                  message: `There is no account of ${email}. Make it: reins accounts create --email ${email}`
                })
            )
          )
          return yield* Effect.flatMap(ApiKeys, (keys) =>
            keys.issueFor(account.id, { name, scopes: wanted, workspaceId: null })
          )
        }),
        Installation.existing(config)
      ).pipe(Effect.mapError(explain))
      // The standard output holds the key alone, so that a script can read it from there.
      yield* Effect.sync(() => {
        process.stderr.write(`The key "${key.name}" (${key.id}, ${key.scopes.join(", ")}) is shown only once:\n`)
        process.stdout.write(`${key.secret}\n`)
      })
    })
})

const readScope = (given: string) => {
  const scope = Scope.literals.find((known) => known === given.trim())
  return scope === undefined
    ? Effect.fail(
        new CommandFailed({ message: `There is no scope "${given.trim()}". There are: ${Scope.literals.join(", ")}.` })
      )
    : Effect.succeed(scope)
}

/** A sentence for a person about values that cannot be taken. */
export const explain = <E>(error: E): E | CommandFailed =>
  error instanceof RequestInvalid
    ? new CommandFailed({
        message: toDetails(error.loc, error.issue, error.input)
          .map(({ loc, msg }) => `${loc.slice(1).join(" ")}: ${msg.replace(/^Value error, /, "")}`)
          .join("\n")
      })
    : error
