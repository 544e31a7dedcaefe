import { once } from "@reins/base/base/Once"
import { Effect } from "effect"

/** So many characters are looked at. The time of the estimate grows with the square of them, and what is strong is strong before. */
const mostCharacters = 64

/** A password that is found with fewer guesses is one of those that are guessed first. */
const guessesAtLeast = 1e6

/** Words and passwords that the dictionary of the library does not have, most of them of those who run servers. */
const missingWords = (
  "root toor login superuser administrador mysql postgres abc abcd abcde abcdef qwertz zxcvb hi passphrase willkommen bienvenue " +
  "contraseña 5201314520 mercedesbenz coca-cola jesus4ever jesusloves yourpassword linkedin snapchat instagram hotmail friends4ever cash4me " +
  "lordoftherings voldemort minniemouse !qaz@wsx qwe!@#123 abc@1234 abcd@123 pass@word1 logmein 111222tianya correcthorsebatterystaple"
).split(" ")

/**
 * Loaded and made at the first password that somebody chooses: the dictionaries take 30 MB of memory and a tenth of a second, which a
 * server that only checks passwords never needs.
 */
const estimator = Effect.runSync(
  once(
    Effect.promise(async () => {
      const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
        import("@zxcvbn-ts/core"),
        import("@zxcvbn-ts/language-common")
      ])
      return new ZxcvbnFactory({
        dictionary: { ...dictionary, missing: missingWords },
        graphs: adjacencyGraphs,
        maxLength: mostCharacters
      })
    })
  )
)

/**
 * True for a password that is guessed first: a leaked one, a word with digits and signs around it, a repetition, a row of the keyboard, a
 * date, or one of the `known` words about its owner, in the disguises that are tried too.
 */
export const isGuessedFirst = (password: string, known: ReadonlyArray<string>): Effect.Effect<boolean> =>
  Effect.map(estimator, (zxcvbn) => {
    const words = [...known]
    const core = withoutEnds(password)
    return (
      zxcvbn.check(password, words).guesses < guessesAtLeast || (core !== "" && isOneWord(zxcvbn.check(core, words)))
    )
  })

/** The text without the digits and signs before and after it. */
const withoutEnds = (text: string): string => text.replace(/^[^\p{L}]+|(?<![^\p{L}])[^\p{L}]+$/gu, "")

/** The estimate counts digits and signs around a word as unknown characters. Programs that guess add them to every word. */
const isOneWord = ({ sequence }: { readonly sequence: ReadonlyArray<{ readonly pattern: string }> }): boolean =>
  sequence.length === 1 && sequence[0]?.pattern === "dictionary"
