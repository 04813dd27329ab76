import type { Answer } from '@reply/core'
import type { Actor, AnswerInbound, Chat } from '@reply/sink'

/** What a person does with a run on its page. */
export interface PageAction {
  readonly type: 'page'
  /** The chat of the run. */
  readonly chat: Chat
  /** The person that the link to the page was made for. */
  readonly actor: Actor
  /** The id of the run, as people see it. */
  readonly runID: string
  readonly act: PageAct
  /** Tells the page why it was refused. Without a text, it was carried out. */
  readonly answer: AnswerInbound
}

/** An answer to an ask, its rejection, or a stop of the run. */
export type PageAct =
  | { readonly type: 'answer'; readonly ask: PageAsk; readonly answer: Answer }
  | { readonly type: 'reject'; readonly ask: PageAsk; readonly message?: string | undefined }
  | { readonly type: 'stop' }

/** An ask as the page showed it. */
export interface PageAsk {
  readonly requestID: string
  /** The core's `askDigest` of what was shown, so that nothing else is answered. */
  readonly digest: string
}
