import type { Clock } from '@reply/core'
import type { Answering } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import { type Body, noticeBody, tokenAbout } from '../body.ts'
import { dialogOf } from '../form.ts'
import type { InteractionRef } from '../inbound.ts'
import { deferMs } from '../limits.ts'

export interface RespondOptions {
  readonly interaction: InteractionRef
  /** The message that was pressed, which dialogs are about. */
  readonly messageId: string
  /** Sends the first response: by a call, or as the response to Discord's own request. */
  readonly first: (body: Body) => Promise<void>
  /** Sends a message after the first response. */
  readonly followUp: (body: Body) => Promise<void>
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

export interface Respond {
  /** Only the person sees it. Without a text, the response is empty. */
  readonly answer: Answering
  /** Opens a dialog. If it is too late for one, posts a button that opens it. */
  readonly open: (form: Form) => Promise<void>
  /** Sends nothing, as the interaction was a repeat. */
  readonly cancel: () => void
}

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type */
const kind = { message: 4, deferUpdate: 6, modal: 9 } as const

/** Answers an interaction once. Acknowledges it in time in any case, so that the answer may follow later. */
export function createRespond({ interaction, messageId, first, followUp, clock, onFailure }: RespondOptions): Respond {
  let taken: Promise<void> | undefined
  let isDone = false
  const stop = clock.after(deferMs, () => void guarded(take)())
  return {
    answer: async (text) => await done(() => say(text)),
    open: async (form) => await done(() => show(form)),
    cancel: stop,
  }

  async function done(act: () => Promise<void>): Promise<void> {
    if (isDone) return
    isDone = true
    stop()
    await guarded(act)()
  }

  function guarded(act: () => Promise<void>): () => Promise<void> {
    return async () => {
      try {
        await act()
      } catch (error) {
        onFailure(error)
      }
    }
  }

  /** Acknowledges, because otherwise the person would see the interaction fail. */
  async function take(): Promise<void> {
    taken ??= first(quietOf(interaction))
    await taken
  }

  async function say(text: string | undefined): Promise<void> {
    if (!taken) return await first(text ? { type: kind.message, data: noticeBody(text) } : quietOf(interaction))
    await taken
    if (text) await followUp(noticeBody(text))
  }

  async function show(form: Form): Promise<void> {
    const token = tokenAbout(form.token, messageId)
    if (!taken) return await first({ type: kind.modal, data: dialogOf({ ...form, token }) })
    await taken
    await followUp(noticeBody(form.label, { label: form.label, data: token }))
  }
}

/** An empty response. A command has no message to leave unchanged, so it needs a visible confirmation. */
export function quietOf({ isOnMessage }: Pick<InteractionRef, 'isOnMessage'>): Body {
  return isOnMessage ? { type: kind.deferUpdate } : { type: kind.message, data: noticeBody('✅') }
}
