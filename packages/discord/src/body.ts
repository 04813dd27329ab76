import type { Bubble, Button, PostOptions } from '@reply/sink/channel'
import { escapeDiscord, oneMessage } from './render.ts'

export type Body = Readonly<Record<string, unknown>>

/** A model's text mentions no one. https://discord.com/developers/docs/resources/message#allowed-mentions-object */
const noMentions = { allowed_mentions: { parse: [] } } as const

/** https://discord.com/developers/docs/resources/message#message-object-message-flags */
export const flag = { noEmbeds: 1 << 2, ephemeral: 1 << 6, silent: 1 << 12 } as const

/** Prefix of our components' custom ids: the bot may have other components. */
const prefix = 'reply:'

export function idOf(token: string): string {
  return `${prefix}${token}`
}

/** The token of a dialog, and of the button that opens it later, with the message that the dialog is about. */
export function tokenAbout(token: string, messageId: string): string {
  return `${token}@${messageId}`
}

/** Separates what `tokenAbout` joined. */
export function partsOf(token: string): { readonly token: string; readonly messageId: string | undefined } {
  const [, bare = token, messageId] = /^(.*)@(\d{1,20})$/s.exec(token) ?? []
  return { token: bare, messageId }
}

/** Returns undefined if the component isn't this package's. */
export function tokenIn(customId: string): string | undefined {
  return customId.startsWith(prefix) ? customId.slice(prefix.length) : undefined
}

export function postBody(bubble: Bubble, { silent, replyTo }: PostOptions, nonce: string): Body {
  return { ...around({ silent, replyTo, nonce }), ...editBody(bubble) }
}

/** Always sends `components`: an empty list removes the message's buttons. */
export function editBody({ text, isPlain, buttons, form, mentions = [] }: Bubble): Body {
  const people = mentions.map(({ id }) => id).filter((id) => /^\d+$/.test(id))
  const lead = people.length === 0 ? '' : `${people.map((id) => `<@${id}>`).join(' ')}\n`
  const rows = [...buttons, ...(form ? [[{ label: form.label, data: form.token }]] : [])]
  const components = rows.map((row, at) => rowOf(row, at === buttons.length ? style.chief : style.plain))
  const content = lead + (isPlain ? escapeDiscord(text) : text)
  return { content, components, allowed_mentions: { parse: [], ...(lead !== '' && { users: people }) } }
}

export interface Around {
  readonly silent: boolean
  readonly replyTo?: PostOptions['replyTo']
  readonly nonce: string
}

/** The fields of a post besides its content. It is posted even if the message it replies to was deleted. */
export function around({ silent, replyTo, nonce }: Around): Body {
  return {
    ...noMentions,
    nonce,
    enforce_nonce: true,
    flags: flag.noEmbeds | (silent ? flag.silent : 0),
    ...(replyTo && { message_reference: { message_id: replyTo.id, fail_if_not_exists: false } }),
  }
}

/** A message that only the person sees, without link previews, with an optional button that opens a dialog. */
export function noticeBody(words: string, opener?: Button): Body {
  const components = opener ? { components: [rowOf([opener], style.chief)] } : {}
  return { content: oneMessage(words), flags: flag.ephemeral | flag.noEmbeds, ...components, ...noMentions }
}

const style = { chief: 1, plain: 2 } as const

function rowOf(row: readonly Button[], look: number): Body {
  const components = row.map(({ label, data }) => ({ type: 2, style: look, label, custom_id: idOf(data) }))
  return { type: 1, components }
}
