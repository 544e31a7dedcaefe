import type { HostToken } from "@reins/client"
import { useEffect, useRef } from "preact/hooks"
import { Field } from "../ui/Basics.js"

/** Asks for the token of a private repository where it is needed. The cursor goes there. */
export const TokenField = ({ of: { host, needs, page, takesUser } }: { readonly of: HostToken }) => {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [host])
  const hint = (
    <>
      The repository is private, or there is none.{" "}
      {page !== null && (
        <>
          <a href={page} target="_blank" rel="noreferrer">
            Make a token on {host}
          </a>
          .{" "}
        </>
      )}
      {needs !== null && `${needs} `}
      It is saved as a connection of this workspace.
    </>
  )
  return (
    <div class={takesUser ? "columns" : undefined}>
      <Field label={`Token for ${host}`} hint={hint}>
        <input ref={input} type="password" name="token" required autocomplete="off" />
      </Field>
      {takesUser && (
        <Field label="User" hint="Empty if the host takes any name with a token.">
          <input name="token_user" autocomplete="off" />
        </Field>
      )}
    </div>
  )
}
