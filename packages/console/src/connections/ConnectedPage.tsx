import { type ConnectionLogin, type ConnectionLoginsAnswerInput, ReinsApiError } from "@reins/client"
import { useState } from "preact/hooks"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Nothing, PageHead, State } from "../ui/Basics.js"
import { loginSentence } from "./ServerLogin.js"

/** Takes the answer of an authorization server out of the address, where it would stay in the history of the browser. */
const takeAnswer = () => {
  const given = new URLSearchParams(location.search)
  const of = (name: string) => given.get(name) ?? undefined
  history.replaceState(null, "", location.pathname)
  return { state: of("state"), code: of("code"), error: of("error"), iss: of("iss") }
}

/** The page that a server of tools leads back to, after a person has logged in there. */
export const ConnectedPage = () => {
  const [answer] = useState(takeAnswer)
  return (
    <>
      <PageHead title="Log in to a server of tools" />
      {answer.state === undefined ? (
        <Nothing>
          There is no login here. Begin one in <a href="connections">Connections</a>.
        </Nothing>
      ) : (
        <Ended {...answer} state={answer.state} />
      )}
    </>
  )
}

const Ended = ({
  code,
  error,
  iss,
  state
}: {
  readonly state: string
  readonly code: string | undefined
  readonly error: string | undefined
  readonly iss: string | undefined
}) => {
  const [connection_login_id = ""] = state.split(".")
  const login = useLoaded(
    "the connection",
    () =>
      answered({
        connection_login_id,
        state,
        ...(code !== undefined && { code }),
        ...(error !== undefined && { error }),
        ...(iss !== undefined && { iss })
      }),
    [state]
  )
  return (
    <Await of={login}>
      {(ended) =>
        ended === null ? (
          <Nothing>
            No login of yours waits for this answer. Begin again in <a href="connections">Connections</a>, in this
            browser.
          </Nothing>
        ) : (
          <>
            <p role="status">
              <State of={ended.state === "completed" ? "ready" : ended.state} as={ended.state} /> {loginSentence(ended)}
            </p>
            <p>
              <a href="connections">Go to Connections</a>
            </p>
          </>
        )
      }
    </Await>
  )
}

/** The login with its answer; null for one that this account has not begun. */
const answered = async (given: ConnectionLoginsAnswerInput): Promise<ConnectionLogin | null> => {
  try {
    return await reins.connectionLogins.answer(given)
  } catch (error) {
    if (error instanceof ReinsApiError && error.code === "not_found") return null
    throw error
  }
}
