import {
  type Ask,
  askDetails,
  askTitle,
  escapeDeceptive,
  type PermissionAsk,
  pendingAsks,
  type Reply,
  type ToolPart,
} from '@reply/core'
import { askDigest, permissionAnswers } from '@reply/core/internal'
import type { UIAsk } from '../chunk.ts'

/** Looks up the asks of a reply. */
export interface AskIndex {
  /** The ask that a call of the reply itself waits for, or else the one that it waited for last. */
  of(part: ToolPart): Ask | undefined
  /** Whether a person should be asked: of several equal asks only the oldest one. */
  isListed(ask: Ask): boolean
}

const indexes = new WeakMap<readonly Ask[], AskIndex>()

/** Returns the index of a reply's asks. All readers of the reply share it. */
export function askIndexOf(reply: Reply): AskIndex {
  const known = indexes.get(reply.asks)
  if (known) return known
  const listed = new Set(pendingAsks(reply))
  const byCall = new Map<string, Ask[]>()
  for (const ask of reply.asks) {
    if (ask.callID === undefined || ask.path.length > 1) continue
    const others = byCall.get(ask.callID)
    if (others) others.push(ask)
    else byCall.set(ask.callID, [ask])
  }
  const index: AskIndex = {
    of: ({ callID, messageID }) => {
      const asks = (byCall.get(callID) ?? []).filter((ask) => (ask.messageID ?? messageID) === messageID)
      return asks.find(({ status }) => status === 'pending') ?? asks.at(-1)
    },
    isListed: (ask) => listed.has(ask),
  }
  indexes.set(reply.asks, index)
  return index
}

/** Whether a reader is told of an ask. One that equals an older one is closed with that. */
export function isAsked(asks: AskIndex, ask: Ask): boolean {
  return ask.status !== 'pending' || asks.isListed(ask)
}

/** What an answer names: the ask, and a digest of all that a person decides about. */
export function answerIDOf(ask: Ask): string {
  return `${ask.requestID}.${askDigest(ask)}`
}

/** Whether a permission can be allowed: all that would run is known and can be shown. */
export function canAllow(ask: PermissionAsk): boolean {
  return askDetails(ask) !== undefined
}

/** The answers that a permission takes. Empty once it is closed. */
export function choicesOf(ask: PermissionAsk): UIAsk['choices'] {
  return ask.status === 'pending' ? permissionAnswers(ask) : []
}

/** What a page shows of an ask. A closed one has neither its details nor choices. `toolCallId` is the tool part that it is for. */
export function askData(ask: Ask, toolCallId: string | undefined): UIAsk {
  const { type, status, sessionID } = ask
  const common = {
    id: answerIDOf(ask),
    type,
    status,
    sessionID,
    ...(toolCallId !== undefined && { toolCallId }),
  }
  if (ask.type === 'question') {
    const title = ask.questions.map(({ header, question }) => header || question).join(', ')
    const isOpen = ask.status === 'pending'
    return {
      ...common,
      title: escapeDeceptive(title),
      choices: [],
      ...(isOpen && { questions: ask.questions }),
      ...(ask.answers && { answers: ask.answers }),
    }
  }
  const choices = choicesOf(ask)
  const details = ask.status === 'pending' ? askDetails(ask) : undefined
  return {
    ...common,
    title: askTitle(ask),
    choices,
    ...(details && { details }),
    ...(choices.includes('always') && { always: ask.always.map((pattern) => escapeDeceptive(pattern)) }),
    ...(ask.reply && { reply: ask.reply }),
  }
}
