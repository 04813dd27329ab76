import type { Ask, Clock, Reply } from '@reply/core'
import { wallTime } from '@reply/core/internal'
import type { Policy } from '../config.ts'
import { SinkError } from '../error.ts'
import type { AskState } from '../ledger/card.ts'
import { type Entry, refOf } from '../ledger/entry.ts'
import { mayAllow } from '../ledger/guard.ts'
import { permissionKey, requestIDOf } from '../ledger/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Actor } from '../port/actor.ts'
import type { Chat } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { resolvedText } from './ask-end.ts'
import { type AskInput, type AskPress, type AskReading, type AskText, isOffered, readAskInput } from './asks.ts'
import { alwaysRefusalText, offerOf } from './offer.ts'
import { isSameChat, type Target, targetsOf } from './target.ts'
import { secretHash } from './token.ts'

/** How an input was read, and the ask that it answers. */
export type AskResult = AskReading & {
  /** The ask, as it was when the input was read. */
  readonly ask: Ask
  /** Makes the ask pending again if the server did not accept the answer. Does nothing if it was not an answer. */
  readonly undo: () => void
  /**
   * A text that does not reply to the ask and matches none of its options. If the ask turns out to be answered already, treat
   * it as an ordinary message.
   */
  readonly mayBeConversation?: true | undefined
}

/** Whether an actor may answer an ask, by button or by text. Only `true` means yes. An error means no. */
export type MayAnswer = (actor: Actor, ask: Ask) => boolean | Promise<boolean>

/**
 * An ask that an input may answer.
 *
 * - `meant`: one of its buttons was pressed, or the text replies to it.
 * - `fits`: the text answers it.
 * - `maybe`: the text answers it, but the person may not have seen it. The text then answers neither this ask nor another.
 * - `late`: the text would have answered it, but it was closed after the text was written. The text then answers no other ask.
 * - `unfit`: it accepts text, but this text does not answer it.
 */
export interface AskMatch {
  /** How well the input fits the ask, see `AskMatch`. */
  readonly type: 'meant' | 'fits' | 'maybe' | 'late' | 'unfit'
  /** The ask that the input may answer, as it is now. */
  readonly ask: Ask
  /** Applies the input to this ask in its current state. Only the first answer to an ask counts. */
  readonly take: () => AskResult
}

/** The chat and the reply whose asks are answered. */
export interface AskFinderOptions {
  readonly texts: Texts
  readonly policy: Policy
  readonly chat: Chat
  readonly mayAnswer?: MayAnswer | undefined
  readonly reply: () => Reply | undefined
  readonly ledger: () => Ledger
  /** Resolves when the stored ledger has been loaded. */
  readonly loaded: () => Promise<void>
  /** Resolves when the current call to the platform has ended and its result is in the ledger. */
  readonly lastCall: () => Promise<void>
  readonly clock: Clock
  /** The progress of an ask changed. */
  readonly onChange: (requestID: string, state: AskState) => void
  readonly onError: (error: SinkError) => void
}

/**
 * Applies the input to the first ask that it is meant for, or else to the one that it fits, or else to the first that it
 * doesn't fit. If it fits one ask and also fits or may fit another, applies it to none and returns an error, as for a text that
 * is late. Undefined if there is no match, or none but `maybe`.
 */
export function takeBestMatch(found: readonly AskMatch[], texts: Texts): AskResult | undefined {
  const meant = found.find(({ type }) => type === 'meant')
  const first = found.find(({ type }) => type === 'fits')
  const candidates = found.filter(({ type }) => type === 'fits' || type === 'maybe' || type === 'late')
  if (!meant && first && candidates.length > 1) return errorResult(first.ask, texts.whichOne)
  const late = found.find(({ type }) => type === 'late')
  return (meant ?? first ?? late ?? found.find(({ type }) => type === 'unfit'))?.take()
}

/** Finds the asks of one reply that an input may answer. */
export interface AskFinder {
  /**
   * Waits for the ledger, then resolves with the asks that the input may answer, oldest first. A press, or a text that
   * replies to an ask, from a person who may not answer it gives a match whose `take` returns an error. Empty for a token
   * that is not one of the reply's, and for text that is conversation.
   */
  findAsks(input: AskInput, actor: Actor | undefined): Promise<readonly AskMatch[]>
  /**
   * Shows who is closing asks outside of the chat, on those that are pending and not answered here: one, or all by a stop of the run.
   * The returned function removes the name.
   */
  closedBy(actor: Actor, requestID?: string): () => void
}

/** Creates the finder of one reply. `options.reply` and `options.ledger` return their current states. */
export function createAskFinder(options: AskFinderOptions): AskFinder {
  const { texts, policy, chat, mayAnswer, reply, ledger, loaded, lastCall, clock, onChange, onError } = options
  /** The contents of asks answered here, until the server reports them as answered. */
  const answered = new Set<string>()
  return { findAsks, closedBy }

  /** Waits for the ledger, then finds the asks that an input may answer, oldest first. */
  async function findAsks(input: AskInput, actor: Actor | undefined): Promise<readonly AskMatch[]> {
    await loaded()
    return 'token' in input ? await asksForPress(input, actor) : await asksForText(input, actor)
  }

  /** Shows who closes pending asks that are not answered here. The returned function removes the name again. */
  function closedBy({ name }: Actor, only?: string): () => void {
    const pendingIDs = (reply()?.asks ?? []).flatMap((ask) => {
      const state = ledger().asks[ask.requestID]
      return (only === undefined || ask.requestID === only) &&
        ask.status === 'pending' &&
        state &&
        !answered.has(contentKey(ask.requestID, state))
        ? [ask.requestID]
        : []
    })
    /** Shows this name on those that are still not answered here, or none. */
    const noteAll = (by: string | undefined): void => {
      for (const requestID of pendingIDs) {
        const state = ledger().asks[requestID]
        if (state && !answered.has(contentKey(requestID, state))) onChange(requestID, { ...state, by })
      }
    }
    noteAll(name)
    return () => noteAll(undefined)
  }

  /**
   * Finds the ask whose token was pressed, at most one. Empty for an unknown token. Waits up to `confirmMs` for its message
   * to be confirmed. A press in the wrong chat, on the wrong message, or of a pending ask by the wrong person, gets an
   * error.
   */
  async function asksForPress(input: AskPress, actor: Actor | undefined): Promise<readonly AskMatch[]> {
    const hash = secretHash(input.token)
    const carrier = ledger().entries.find((entry) => hasSecret(entry, hash))
    const ask = carrier && reply()?.asks.find(({ requestID }) => requestID === requestIDOf(carrier.card))
    if (!ask) return []
    if (!isSameChat(chat, input.chat)) return [refusedMatch(ask, texts.notHere)]
    // The platform may report a press before it confirms the post of its message.
    if (!pressedEntry(ask, input)) await waitAtMost(lastCall(), confirmMs)
    if (!pressedEntry(ask, input)) return [refusedMatch(ask, texts.notItsMessage)]
    if (ask.status === 'pending' && !(await mayAnswerAsk(ask, actor))) return [refusedMatch(ask, refusalTextFor(actor))]
    return [{ type: 'meant', ask, take: () => recordAnswer(readAsk(ask, input), ask, actor) }]
  }

  /**
   * Returns the ask's message with the pressed button. Undefined if the ledger has no such message, so buttons of copied
   * messages don't count.
   */
  function pressedEntry({ requestID }: Ask, { token, messageRef }: AskPress): Entry | undefined {
    const hash = secretHash(token)
    return ledger().entries.find(
      (entry) => hasSecret(entry, hash) && refOf(entry)?.id === messageRef.id && requestIDOf(entry.card) === requestID,
    )
  }

  /** Resolves when the promise does, or after `ms`. */
  async function waitAtMost(done: Promise<unknown>, ms: number): Promise<void> {
    let stop = (): void => {}
    const late = new Promise<void>((resolve) => {
      stop = clock.after(ms, resolve)
    })
    await Promise.race([done, late])
    stop()
  }

  /** Finds every ask that a text may answer, oldest first. */
  async function asksForText(input: AskText, actor: Actor | undefined): Promise<readonly AskMatch[]> {
    const now = reply()
    // A text has the platform's time, and the clock of the reply stays ahead when the wall clock is set back.
    const aheadMs = Math.max(0, clock.now() - wallTime(clock))
    const targets = now ? targetsOf(input, { reply: now, ledger: ledger(), chat, aheadMs }) : []
    const found = await Promise.all(targets.map(async (target) => await matchOf(target, input, actor)))
    return found.flatMap((one) => one ?? [])
  }

  /**
   * Returns how well a text fits an ask, or undefined if it is conversation. A reply to the ask is always `meant`, and gets an
   * error if the ask is outdated or not shown yet, or if the actor may not answer. A reply to an unknown message gets an error
   * if it would answer. Any other text is `fits`, `maybe` or `unfit`: in a group only for questions with known answerers, while
   * an answer to a permission there gets an error that says how to give it.
   */
  async function matchOf(
    { type, ask }: Target,
    input: AskText,
    actor: Actor | undefined,
  ): Promise<AskMatch | undefined> {
    if (type === 'outdated') return refusedMatch(ask, lateTextFor(ask))
    const step = stepKey(ask)
    const may = await mayAnswerAsk(ask, actor)
    if (type === 'closed') return may ? lateMatch(ask, input) : undefined
    const read = readAsk(ask, input)
    // The ask may have moved on to another question while the host decided.
    const takeNow = (): AskResult => recordAnswer(step === stepKey(ask) ? readAsk(ask, input) : undefined, ask, actor)
    if (type === 'unconfirmed') {
      const isMeant = may && read?.isUnderstood === true && !answered.has(contentKey(ask.requestID, read.state))
      return isMeant ? refusedMatch(ask, texts.notShownYet) : undefined
    }
    if (type !== 'bare' && type !== 'maybe') {
      if (!may) return refusedMatch(ask, refusalTextFor(actor))
      return type === 'unshown' ? refusedMatch(ask, texts.notShownYet) : { type: 'meant', ask, take: takeNow }
    }
    // Text from others is conversation, not an answer.
    if (!may || !read) return undefined
    const isAnswered = answered.has(contentKey(ask.requestID, read.state))
    const isFree = !isOffered(ask, read.reading, read.state)
    // It has just been answered, which the reply does not show yet.
    if (isAnswered && isFree) return undefined
    const isAnswer = read.reading.type !== 'error' && !isAnswered
    if (type === 'maybe') return isAnswer ? { type, ask, take: () => errorResult(ask, texts.notShownYet) } : undefined
    /** Takes free text, which is conversation if the ask was answered meanwhile. */
    const takeFree = (): AskResult => {
      const taken = takeNow()
      const isLate = taken.type === 'error' && isNoLongerPending(ask)
      return isLate ? { type: 'conversation', ...withNoUndo(ask) } : { ...taken, mayBeConversation: true }
    }
    const found: AskMatch = { type: isAnswer ? 'fits' : 'unfit', ask, take: isFree ? takeFree : takeNow }
    if (isPrivate(input)) return found
    if (ask.type === 'permission')
      return isAnswer ? { ...found, type: 'unfit', take: () => errorResult(ask, texts.pressOrReply) } : undefined
    // Without known answerers, any conversation could count as an answer.
    return read.state.guard ? found : undefined
  }

  /**
   * Returns the match of a text with an ask that was closed after the text was written. Undefined unless the text would have been
   * one of the answers that the ask offered: any other one is what the person says next.
   */
  function lateMatch(closed: Ask, input: AskText): AskMatch | undefined {
    const state = ledger().asks[closed.requestID]
    if (!state || (!isPrivate(input) && (closed.type === 'permission' || !state.guard))) return undefined
    const ask: Ask = { ...closed, status: 'pending' }
    const reading = readAskInput(ask, input, { state, texts })
    if (!isOffered(ask, reading, state)) return undefined
    return { type: 'late', ask: closed, take: () => errorResult(closed, lateTextFor(closed)) }
  }

  /** Returns the error for an answer to an ask that has ended. */
  function lateTextFor(ask: Ask): string {
    const state = ledger().asks[ask.requestID]
    return state ? resolvedText(ask, state, texts) : texts.alreadyResolved
  }

  /** Whether the text was written in a private chat. The id of a chat alone does not tell that on each platform, but its events do. */
  function isPrivate({ chat: writtenIn }: AskText): boolean {
    return (chat.kind ?? writtenIn?.kind) === 'private'
  }

  /** Returns the error for an actor who may not answer. */
  function refusalTextFor(actor: Actor | undefined): string {
    return actor?.isAnonymous ? texts.anonymous : texts.notForYou
  }

  /** Identifies the current question and content of an ask. */
  function stepKey({ requestID }: Ask): string {
    const state = ledger().asks[requestID]
    return `${state && contentKey(requestID, state)}/${state?.answers.length}`
  }

  /**
   * Reads the input for the ask as it is now. An answer that is not offered here becomes an error. Undefined if the ask no
   * longer exists, or if the button's message shows older content.
   */
  function readAsk({ requestID }: Ask, input: AskInput): ReadInput | undefined {
    const ask = reply()?.asks.find((one) => one.requestID === requestID)
    const state = ledger().asks[requestID]
    if (!ask || !state || ('token' in input && !isOfContent(pressedEntry(ask, input), ask, state))) return undefined
    const reading = readAskInput(ask, input, { state, texts })
    return {
      ask,
      state,
      reading: onlyIfOffered({ ask, state, reading }, 'token' in input),
      isUnderstood: reading.type !== 'error',
    }
  }

  /** Whether the message shows the ask as it is now. False if it shows an older version of a permission. */
  function isOfContent(entry: Entry | undefined, { type, requestID }: Ask, { digest = '' }: AskState): boolean {
    return entry !== undefined && (type === 'question' || entry.card === permissionKey(requestID, digest))
  }

  /** Returns the reading, or an error that says why if its answer is not offered in this chat. */
  function onlyIfOffered({ ask, state, reading }: Omit<ReadInput, 'isUnderstood'>, isPress: boolean): AskReading {
    if (reading.type !== 'answer' || ask.type !== 'permission') return reading
    const offering = { ledger: ledger(), policy, texts, mayAllow: mayAllow(state, options), isPress }
    const offer = offerOf(ask, offering)
    if (!offer.once) return { type: 'error', error: offer.why ?? texts.notAllShown }
    return reading.answer === 'always' && !offer.always
      ? { type: 'error', error: alwaysRefusalText(ask, texts) }
      : reading
  }

  /**
   * Whether the actor may answer the ask, or reject it where nothing can be allowed. Never for an anonymous actor. Always for
   * others if the ledger has no guard for the ask. A `mayAnswer` that fails is reported, and counts as no.
   */
  async function mayAnswerAsk(ask: Ask, actor: Actor | undefined): Promise<boolean> {
    const state = ledger().asks[ask.requestID]
    const guard = state?.guard
    if (actor?.isAnonymous) return false
    if (!guard) return true
    // No one here can allow it. Let others reject it, or it would stay pending forever.
    if (ask.type === 'permission' && !mayAllow(state, options))
      return !guard.answerers?.length || (actor !== undefined && guard.answerers.includes(actor.id))
    if (!actor || (guard.answerers && !guard.answerers.includes(actor.id))) return false
    if (!guard.hasMayAnswer) return true
    try {
      return mayAnswer !== undefined && (await mayAnswer(actor, ask)) === true
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      onError(
        new SinkError('may-answer', `mayAnswer failed for ${ask.requestID}, so the answer was refused: ${reason}`, {
          cause,
        }),
      )
      return false
    }
  }

  /** Whether the ask is closed, or was answered here and the reply doesn't show it yet. */
  function isNoLongerPending({ requestID }: Ask): boolean {
    const state = ledger().asks[requestID]
    const isPending = reply()?.asks.some((one) => one.requestID === requestID && one.status === 'pending') === true
    return !isPending || (state !== undefined && answered.has(contentKey(requestID, state)))
  }

  /**
   * Records an answer or a pick, reports the change, and returns the reading. Only the first answer to the same content
   * counts, so this must stay synchronous. Later ones, and an ask that can't be read, give an error. Errors, forms and
   * conversation are returned and change nothing.
   */
  function recordAnswer(read: ReadInput | undefined, before: Ask, actor: Actor | undefined): AskResult {
    if (!read) return errorResult(before, texts.alreadyResolved)
    const { ask, state, reading } = read
    if (reading.type === 'error' || reading.type === 'form' || reading.type === 'conversation')
      return { ...reading, ...withNoUndo(ask) }
    const content = contentKey(ask.requestID, state)
    if (answered.has(content)) return errorResult(ask, texts.alreadyResolved)
    onChange(ask.requestID, reading.type === 'more' ? { ...state, ...reading.state } : { ...state, by: actor?.name })
    if (reading.type === 'more') return { ...reading, ...withNoUndo(ask) }
    // The last answer is recorded and shown once the server has accepted it.
    answered.add(content)
    return { ...reading, ask, undo: () => undoAnswer(ask, state) }
  }

  /**
   * Makes the ask pending again and restores the former name, because another person may have answered elsewhere. Does
   * nothing the second time.
   */
  function undoAnswer({ requestID }: Ask, before: AskState): void {
    const state = ledger().asks[requestID]
    if (answered.delete(contentKey(requestID, before)) && state) onChange(requestID, { ...state, by: before.by })
  }
}

/** How long a press waits for its message to be confirmed, in ms. Telegram shows a spinner for about 15 s. */
const confirmMs = 8000

/** Whether a button of the message has, or may have, a token with the secret of this hash. */
function hasSecret({ secretHashes = [] }: Entry, hash: string): boolean {
  return secretHashes.includes(hash)
}

/** Returns a key for an ask with its content. An answer counts once per key, so changed content can be answered again. */
function contentKey(requestID: string, { digest = '' }: AskState): string {
  return `${requestID}/${digest}`
}

interface ReadInput {
  readonly ask: Ask
  readonly state: AskState
  readonly reading: AskReading
  /** The text or button is an answer to the ask, whether or not that answer is allowed now. */
  readonly isUnderstood: boolean
}

/** Returns a match for an input that was meant for the ask and only gets this error. */
function refusedMatch(ask: Ask, error: string): AskMatch {
  return { type: 'meant', ask, take: () => errorResult(ask, error) }
}

/** Returns the result for an input that does not answer the ask. Its `undo` does nothing. */
function errorResult(ask: Ask, error: string): AskResult {
  return { type: 'error', error, ...withNoUndo(ask) }
}

/** Returns the ask with an `undo` that does nothing. */
function withNoUndo(ask: Ask): Pick<AskResult, 'ask' | 'undo'> {
  return { ask, undo: () => {} }
}
