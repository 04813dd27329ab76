import type { Guard } from './guard.ts'
import type { AskDetail } from './permission.ts'
import type { Attachment, Button, Form } from './port.ts'

interface CardFields {
  /** Names it among the reply's cards, for as long as the reply is shown. */
  readonly key: string
  /** In Markdown. */
  readonly source: string
  /** The shown text parts that it stands after, if what is said later goes on below it. */
  readonly before?: readonly string[] | undefined
}

/**
 * What people are to see, in the order of the chat.
 *
 * An `answer` is a stretch of what the assistant said. `live` cards go when they are no longer wanted; all others stay.
 */
export type Card =
  | (CardFields & {
      readonly type: 'answer'
      /** More may come, and the last may still change. */
      readonly isOpen: boolean
    })
  | (CardFields & { readonly type: 'status' })
  | (CardFields & {
      readonly type: 'ask'
      readonly buttons: readonly (readonly Button[])[]
      readonly form?: Form | undefined
      readonly isPending: boolean
      /** Of a permission: what is shown of it, over as many messages as it takes. */
      readonly content?: AskContent | undefined
      /** It is out of date: its last message says so, and has no buttons. */
      readonly isRetired?: true | undefined
    })
  | (CardFields & { readonly type: 'notice'; readonly told: readonly string[] })
  | (CardFields & { readonly type: 'heartbeat' | 'note' | 'todos' | 'reasoning' })
  | (CardFields & { readonly type: 'file'; readonly file: Attachment })
  /** How it ended, where that has to be said. */
  | (CardFields & { readonly type: 'ending'; readonly isFailure: boolean })

export type AskCard = Extract<Card, { type: 'ask' }>

export type CardType = Card['type']

/** All that a permission shows. None of it is ever shortened. */
export interface AskContent {
  /** In Markdown, one line. */
  readonly head: string
  readonly details: readonly AskDetail[]
  /** Diffs of more UTF-16 units go out as a file. Undefined if the port takes no files. */
  readonly documentLength: number | undefined
  /** Below it, once all of it is on the screen. */
  readonly open: AskFoot
  /** Below it while a part of it is not. */
  readonly closed: AskFoot
}

/** What stands below the last message of a permission. */
export interface AskFoot {
  /** In Markdown. May be empty. */
  readonly source: string
  readonly buttons: readonly (readonly Button[])[]
  /** One of the buttons allows something. */
  readonly isAllowing: boolean
}

/** What the ledger tells a view of what is on the screen. */
export interface Shown {
  /** Where kept cards stand: after which shown text parts, oldest first. */
  readonly breaks: readonly Break[]
  /** Cards of which a message was posted. */
  readonly posted: ReadonlySet<string>
  /** Cards whose messages were all refused. */
  readonly lost?: ReadonlySet<string> | undefined
  /** Calls that notices told, as `partID:status`. */
  readonly told: ReadonlySet<string>
  readonly noticeAt?: number | undefined
  readonly noticeCount: number
  /** When something was posted last, and when something loud was. */
  readonly postedAt?: number | undefined
  readonly loudAt?: number | undefined
  readonly heartbeats: number
  readonly asks: ReadonlyMap<string, AskState>
  /** Cards of asks that an earlier version of the ledger shows as open. */
  readonly outdated?: readonly string[] | undefined
}

export interface Break {
  readonly key: string
  /** The shown text parts that had come by then. */
  readonly before: readonly string[]
}

/** How far an ask has come with the people of the chat. Goes through JSON. */
export interface AskState {
  /** What its buttons carry begins with this. */
  readonly secret: string
  /** What was given to the questions so far. */
  readonly answers: readonly (readonly string[])[]
  /** Of the present question with several answers: what is picked. */
  readonly picked: readonly string[]
  /** Who answered. */
  readonly by?: string | undefined
  /** Of a permission: the digest of the content that its secret is for. */
  readonly digest?: string | undefined
  /** Of a permission: the call's input was known when it got its secret. */
  readonly isInputKnown?: boolean | undefined
  /** When the sink first saw it, in ms since the epoch. */
  readonly seenAt?: number | undefined
  /** Who may answer. Absent until a sink names someone. */
  readonly guard?: Guard | undefined
  /** It says why nothing can be allowed in this chat. Only one ask of a chat does. */
  readonly isExplained?: boolean | undefined
}
