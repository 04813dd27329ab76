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
    })
  | (CardFields & { readonly type: 'notice'; readonly told: readonly string[] })
  | (CardFields & { readonly type: 'heartbeat' | 'note' | 'todos' | 'reasoning' })
  | (CardFields & { readonly type: 'file'; readonly file: Attachment })
  /** How it ended, where that has to be said. */
  | (CardFields & { readonly type: 'ending'; readonly isFailure: boolean })

export type CardType = Card['type']

/** What the ledger tells a view of what is on the screen. */
export interface Shown {
  /** Where kept cards stand: after which shown text parts, oldest first. */
  readonly breaks: readonly Break[]
  /** Cards of which a message was posted. */
  readonly posted: ReadonlySet<string>
  /** Calls that notices told, as `partID:status`. */
  readonly told: ReadonlySet<string>
  readonly noticeAt?: number | undefined
  readonly noticeCount: number
  /** When something was posted last, and when something loud was. */
  readonly postedAt?: number | undefined
  readonly loudAt?: number | undefined
  readonly heartbeats: number
  readonly asks: ReadonlyMap<string, AskState>
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
}
