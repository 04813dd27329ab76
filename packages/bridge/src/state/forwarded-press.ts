import type { Inbound } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import type { ChatPlace } from '../place.ts'
import type { PageAction } from './page-action.ts'

/** A press, the platform's own Stop, or an action on a page that a member received and the owner of the chat is to carry out. */
export interface ForwardedPress extends Pick<ChatPlace, 'channel'> {
  /** Equal if the platform delivers it again. */
  readonly id: string
  /** The member that received it, and waits for the answer. */
  readonly member: string
  /** Without the functions of a press, which only that member has. */
  readonly inbound: StoredPress
  /** Whether a dialog can be opened. */
  readonly canOpen?: true | undefined
}

type Press = Extract<Inbound, { type: 'press' }>
/** The fields of a press, a Stop or an action on a page that are kept as JSON. */
export type StoredPress =
  | Omit<Press, 'answer' | 'open'>
  | Extract<Inbound, { type: 'stop' }>
  | Omit<PageAction, 'answer'>

/** What the owner says about a forwarded press. */
export type PressAnswer =
  /** It carries the press out. Another answer may follow. */
  | { readonly type: 'claimed' }
  /** It was too late, so the press is surely not carried out. */
  | { readonly type: 'refused' }
  /** The text that the person is told. Without one, the press is only confirmed. */
  | { readonly type: 'answered'; readonly text?: string | undefined }
  /** The dialog that opens. */
  | { readonly type: 'open'; readonly form: Form }

/** How long after a member received a press it may be carried out, in ms. Discord shows a failure after 3 s. */
export const pressMs = 2000
/** How long storing the start of a forwarded press's time may take, in ms. A press that needs longer is not forwarded. */
export const announceMs = 500
/** How long after a member received a press another one can claim it, in ms, without the time that storing the start of it takes. */
export const claimableMs = pressMs - announceMs
/** How long answers are stored, in ms. */
export const answerKeptMs = 10_000

/** The prefix of the keys of all presses of a shard. */
export const pressPrefix = 'press/'

/** Returns the key of a forwarded press. Each shard lists its own. */
export function pressKey({ channel, id }: Pick<ForwardedPress, 'channel' | 'id'>): string {
  return `${pressPrefix}${encodeURIComponent(channel)}/${encodeURIComponent(id)}`
}

/**
 * Returns the key of the value that exists while a press can be claimed. It is stored before the press, whose own commit may
 * be made late. Its value is the member that forwards the press.
 */
export function dueKey({ channel, id }: Pick<ForwardedPress, 'channel' | 'id'>): string {
  return `due/${encodeURIComponent(channel)}/${encodeURIComponent(id)}`
}

/** Returns the key of the owner's answer to a press. */
export function pressAnswerKey({ member, channel, id }: Pick<ForwardedPress, 'member' | 'channel' | 'id'>): string {
  return `answer/${encodeURIComponent(member)}/${encodeURIComponent(channel)}/${encodeURIComponent(id)}`
}
