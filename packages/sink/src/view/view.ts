import { isShownText, ownTodosOf, partsOf, pendingAsks, type Reply, type TextPart } from '@reply/core'
import { amount } from '@reply/core/show'
import type { SecretOf } from '../asks/token.ts'
import type { Policy } from '../config.ts'
import { earliest } from '../earliest.ts'
import type { AskState, Break, Card, Shown } from '../ledger/card.ts'
import { answerBelow, answerKey, compactionKey, promptKey, reasoningKey, todosKey } from '../ledger/keys.ts'
import { type GrowingText, mostKept } from '../ledger/ledger.ts'
import type { DiffControl, Texts } from '../texts.ts'
import type { Activity } from './activity.ts'
import { answerCards, type Placed, silentFrom } from './answer.ts'
import { askCards } from './ask.ts'
import { attachmentCards } from './attachment.ts'
import { endingCards } from './ending.ts'
import { literal, smallPrint } from './format.ts'
import { statusCard } from './status.ts'
import { type Flow, flowOf } from './task.ts'
import { withoutHoles } from './texts-with-holes.ts'
import { heartbeatCard, noticeCard } from './tool-notice.ts'

/**
 * How text reaches the chat:
 * - `live`: messages grow by edits.
 * - `sealed`: nothing can be edited, so a part is shown when it is complete.
 * - `append`: nothing is edited. New text is shown in further messages as it arrives.
 * - `final`: the answer is shown when the reply has settled.
 */
export type Mode = 'live' | 'sealed' | 'append' | 'final'

export interface ViewOptions {
  readonly policy: Policy
  readonly texts: Texts
  readonly mode: Mode
  readonly now: number
  readonly shown: Shown
  /** For the tokens of buttons. */
  readonly secretOf: SecretOf
  /** The limits of buttons. Undefined: no buttons. */
  readonly buttons?: { readonly perRow: number; readonly rows: number; readonly label: number } | undefined
  /**
   * Whether messages can be edited. Default true. If false, a multiple-choice ask has no buttons, because they could not
   * show the picked options.
   */
  readonly edits?: boolean | undefined
  /** Whether people in this chat may allow the ask. Default: they may. */
  readonly mayAllow?: ((state: AskState) => boolean) | undefined
  /** In a chat without buttons: another reply's permission has to be answered first, so those of this reply wait. */
  readonly isBlocked?: boolean | undefined
  /** The port shows forms. */
  readonly forms?: boolean | undefined
  /** Each post notifies, because posts can't be silent. */
  readonly rings?: boolean | undefined
  /** Growing text is streamed. The stream shows the activity. */
  readonly isStreaming?: boolean | undefined
  /** The typing notice shows the activity. */
  readonly typingHasStatus?: boolean | undefined
  /** Formats a line as Markdown that the platform shows small: `Limits.small`. */
  readonly small?: ((line: string) => string) | undefined
  /** Shown at the end of the status line. */
  readonly label?: string | undefined
  /** A page with the whole reply. Linked from the status line and below the answer. */
  readonly page?: URL | undefined
  /** Where the reply was started. Stands at the beginning of each ask. */
  readonly origin?: string | undefined
  /** Whether only asks are shown. */
  readonly hidesAllButAsks?: boolean | undefined
  /** Returns what to show of a prompt that joined the reply, in Markdown. Default: nothing. */
  readonly joinedPrompt?: ((promptID: string, prompt: NonNullable<Reply['prompt']>) => string | undefined) | undefined
  /** No message notifies, so none is posted only to notify. */
  readonly isQuiet?: boolean | undefined
  /** Returns when an activity without a known start was first seen, in ms since the epoch. Default: the start of the reply. */
  readonly activitySince?: ((activity: Activity) => number) | undefined
  /** Files, and code that is too long, are posted as files. */
  readonly uploads: boolean
  /** How people get the session's diff. Default: they can't. */
  readonly diff?: DiffControl | undefined
  /** The text that an earlier process was showing when it ended. */
  readonly former?: GrowingText | undefined
  /** The most files of one post. Default 1. */
  readonly album?: number | undefined
}

export interface View {
  /** In the order of the chat. A posted card that is missing here stays as it is if its type is kept. */
  readonly cards: readonly Card[]
  readonly isTyping: boolean
  /** The agent's activity, in plain text. */
  readonly doing?: string | undefined
  /** The content for a stream. */
  readonly flow: Flow
  /** The text that grows, as the cards show it. */
  readonly growing?: GrowingText | undefined
  /** When to compute the view again if the reply does not change before that, in ms since the epoch. */
  readonly nextAt?: number | undefined
}

/** A card, and when to compute it again. */
export interface TimedCard {
  readonly card?: Card | undefined
  readonly nextAt?: number | undefined
}

/**
 * Returns what people should see of a reply now: its answer with the other cards between its texts, then the ending, then the
 * status unless the typing notice shows it. Only the asks if all else is hidden. Leaves out a heartbeat while text waits to be
 * posted, and blank cards. Pure.
 */
export function view(heard: Reply, options: ViewOptions): View {
  const { mode, now, shown, former, texts } = options
  if (options.hidesAllButAsks) {
    const { cards, nextAt } = askCards(heard, options)
    return { cards, isTyping: false, flow: noFlow, nextAt }
  }
  const holes = { former, mark: texts.missing, showsBeyond: mode === 'live' }
  const { reply, unknownPartID } = withoutHoles(heard, holes)
  const textParts = partsOf(reply).filter(isShownText)
  const status = statusCard(reply, options)
  const notice = noticeCard(reply, options)
  const heartbeat = heartbeatCard(reply, options)
  const asks = askCards(reply, options)
  const attachments = attachmentCards(reply, options)
  // A final answer is one card below all others.
  const endPlace = mode === 'final' ? 0 : textParts.length
  const ids = textParts.map(({ id }) => id)
  const silent = answersAndCards(undefined)
  // Text that waits to be posted says more than a heartbeat.
  const answers = heartbeat.card && !silent.some(isUnposted) ? answersAndCards(heartbeat.card) : silent
  const ending = endingCards(reply, options)
  const paragraphsAt = mode === 'sealed' && reply.phase !== 'settled' ? silentFrom(reply, options) : undefined
  return {
    cards: [...answers, ...ending, ...(status.card && !options.typingHasStatus ? [status.card] : [])].filter(
      hasContent,
    ),
    isTyping: isActive(reply),
    doing: status.card?.source,
    flow: options.isStreaming ? flowOf(reply, options) : noFlow,
    growing: growingIn(reply, options),
    nextAt: earliest(
      status.nextAt,
      notice.nextAt,
      heartbeat.nextAt,
      asks.nextAt,
      paragraphsAt !== undefined && paragraphsAt > now ? paragraphsAt : undefined,
    ),
  }

  /** Returns the answer, and all cards between its texts. `beat` is a heartbeat to add. */
  function answersAndCards(beat: Card | undefined): readonly Card[] {
    const found = [
      ...reasoningCards(reply, { ...options, unknownPartID }).map(({ card, at }) => ({
        card,
        at: Math.min(at, endPlace),
      })),
      ...[compactionCard(reply, options), todosCard(reply, options)].map((card) => ({ card, at: endPlace })),
      {
        card: notice.card,
        at:
          notice.card && isInsertableAt(notice.at, { ...options, textParts })
            ? Math.min(notice.at, endPlace)
            : endPlace,
      },
      ...attachments.map(({ card, at }) => ({
        card,
        // In mode `final`, the files are below the answer.
        at: mode !== 'final' && isInsertableAt(at, { ...options, textParts }) ? at : textParts.length,
      })),
      ...joinedPromptCards(reply, options).map(({ card, at }) => ({
        card,
        at: at < endPlace && isInsertableAt(at, { ...options, textParts }) ? at : endPlace,
      })),
      { card: beat, at: endPlace },
      ...asks.cards.map((card) => ({ card, at: endPlace })),
    ].flatMap(({ card, at }): Placed[] => (card ? [{ key: card.key, card, at }] : []))
    const known = shown.breaks.map((one) => ({
      key: one.key,
      at: Math.min(positionOf(one, ids), endPlace),
      card: found.find(({ key }) => key === one.key)?.card,
    }))
    const placed = [...known, ...found.filter(({ key }) => !shown.breaks.some((one) => one.key === key))]
    // The sort is stable: cards at the same place keep the order in which they were first shown.
    const kept = placed
      .toSorted((a, b) => a.at - b.at)
      .map((one) => (one.card ? { ...one, card: { ...one.card, before: ids.slice(0, one.at) } } : one))
    return answerCards(reply, { ...options, textParts, kept, unknownPartID })
  }

  /** Whether the answer has text that is not posted yet. */
  function isUnposted({ type, key, source }: Card): boolean {
    return type === 'answer' && !shown.lost?.has(key) && source.trimEnd().length > (shown.ends?.get(key) ?? 0)
  }
}

/** Returns the last open text or reasoning that is shown as it grows. Undefined if there is none. */
function growingIn(reply: Reply, { policy, mode }: ViewOptions): GrowingText | undefined {
  if (reply.phase === 'settled' || mode === 'final') return undefined
  const part = partsOf(reply).findLast((one) => {
    return one.status === 'open' && (isShownText(one) || (policy.reasoning && one.type === 'reasoning'))
  })
  if (part?.type !== 'text' && part?.type !== 'reasoning') return undefined
  return { partID: part.id, ...(part.text.length <= mostKept && { text: part.text }) }
}

/** Whether no text below that position is posted yet, so that a card can still be inserted. */
function isInsertableAt(
  at: number,
  { shown, textParts }: ViewOptions & { readonly textParts: readonly TextPart[] },
): boolean {
  const ids = textParts.map(({ id }) => id)
  const breaks = shown.breaks.map((one) => ({ ...one, at: positionOf(one, ids) })).toSorted((a, b) => a.at - b.at)
  const last = breaks.at(-1)
  const above = textParts.slice(last?.at ?? 0, at).map(({ text }) => text)
  const posted = shown.ends?.get(last ? answerBelow(last.key) : answerKey) ?? 0
  return at >= (last?.at ?? 0) && posted <= above.join('\n\n').length
}

/** Whether the card has anything to show. False for blank texts, which a host sets to post nothing. */
function hasContent({ type, source }: Card): boolean {
  return type === 'file' || type === 'attachment' || source.trim() !== ''
}

const noFlow: Flow = { tasks: [] }

/** Whether the agent is active and not waiting for an answer. False while the connection is lost or the run is stalled. */
function isActive(reply: Reply): boolean {
  if (reply.phase === 'settled' || reply.connection === 'lost' || reply.stalled) return false
  return reply.phase !== 'blocked' && pendingAsks(reply).length === 0
}

/** Returns the number of text parts above the card. Parts that no longer exist don't count. */
function positionOf({ before }: Break, ids: readonly string[]): number {
  return 1 + Math.max(-1, ...before.map((id) => ids.indexOf(id)))
}

/**
 * Returns the note of a finished compaction. Undefined for others. It stays in the chat, because the agent only has a summary
 * of everything above it.
 */
function compactionCard({ compaction }: Reply, { texts, small }: ViewOptions): Card | undefined {
  if (compaction?.state !== 'done') return undefined
  const { startedAt, endedAt, tokensBefore } = compaction
  const took = endedAt === undefined ? 0 : endedAt - startedAt
  const duration = took < 1000 ? undefined : texts.elapsed(took)
  const tokens = tokensBefore === undefined ? undefined : amount(tokensBefore)
  const source = smallPrint(texts.compacted({ tokens, duration }), small)
  return { type: 'note', key: compactionKey(compaction.partID ?? startedAt), source }
}

/** Returns the prompts that joined the reply and that the host shows, each above the first message that answers it. */
function joinedPromptCards(
  { joinedPrompts = {}, promptIDs, messages }: Reply,
  { joinedPrompt }: ViewOptions,
): readonly { readonly card: Card; readonly at: number }[] {
  if (!joinedPrompt) return []
  return promptIDs.flatMap((promptID) => {
    const prompt = joinedPrompts[promptID]
    const source = prompt && joinedPrompt(promptID, prompt)
    if (source === undefined) return []
    const answering = messages.findIndex(({ parentID }) => parentID === promptID)
    const above = answering === -1 ? messages : messages.slice(0, answering)
    const at = above.flatMap(({ parts }) => parts.filter(isShownText)).length
    return [{ at, card: { type: 'note', key: promptKey(promptID), source } satisfies Card }]
  })
}

/**
 * Returns the checklist, which is edited as its items are completed. Undefined without items, in modes other than `live`,
 * with `quiet`, and where a stream shows the progress. The checklist of an earlier reply is not shown again.
 */
function todosCard(reply: Reply, { texts, mode, policy, isStreaming }: ViewOptions): Card | undefined {
  const todos = ownTodosOf(reply)
  if (mode !== 'live' || isStreaming || policy.verbosity === 'quiet' || todos.length === 0) return undefined
  const lines = todos
    .map((todo) => texts.todo({ ...todo, content: literal(todo.content) }))
    .filter((line) => line.trim() !== '')
  const title = texts.todos.trim() === '' ? [] : [`**${texts.todos}**`]
  return { type: 'todos', key: todosKey, source: [...title, ...lines.map((line) => `- ${line}`)].join('\n') }
}

/**
 * Returns the model's reasoning as quotes, at the positions where it occurred. Empty unless the policy requests it. In modes
 * other than `live`, reasoning that still grows is left out.
 */
function reasoningCards(
  reply: Reply,
  { policy, mode, unknownPartID }: ViewOptions & { readonly unknownPartID: string | undefined },
): readonly { readonly card: Card; readonly at: number }[] {
  if (!policy.reasoning) return []
  let at = 0
  return partsOf(reply).flatMap((part) => {
    if (isShownText(part)) at += 1
    if (part.type !== 'reasoning' || part.status === 'abandoned' || part.text.trim() === '') return []
    if ((part.status === 'open' && mode !== 'live') || part.id === unknownPartID) return []
    const source = part.text
      .trim()
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n')
    return [{ at, card: { type: 'reasoning', key: reasoningKey(part.id), source } satisfies Card }]
  })
}
