import type { Ledger } from './ledger.ts'
import { type ChannelPort, type Chat, type MessageRef, PortError, type Render } from './port.ts'
import type { Operation } from './reconcile.ts'
import type { Words } from './words.ts'

export interface HandsOptions {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  readonly words: Words
  readonly signal: AbortSignal
}

/** Does one operation with the port. Gives the message where one was posted; rejects as the port does. */
export async function perform(
  operation: Operation,
  ledger: Ledger,
  options: HandsOptions,
): Promise<MessageRef | undefined> {
  const { port, chat, signal } = options
  switch (operation.type) {
    case 'post':
      return await post(operation, ledger, options)
    case 'edit':
      if (operation.entry.ref) await port.edit?.(operation.entry.ref, operation.slot.bubble, { chat, signal })
      return undefined
    case 'remove':
      if (operation.entry.ref) await takeAway(operation.entry.ref, options)
      return undefined
    case 'preview':
      if (port.stream?.kind === 'preview') await port.stream.write(operation.slot.bubble, { chat, signal })
      return undefined
    default:
      return operation satisfies never
  }
}

type Post = Extract<Operation, { type: 'post' }>

async function post(operation: Post, ledger: Ledger, options: HandsOptions): Promise<MessageRef> {
  const { port, chat, signal } = options
  const { slot, isLoud } = operation
  const replyTo = replyToOf(operation, ledger, options)
  const posting = { chat, signal, replyTo, silent: !isLoud, key: ledger.ids[slot.key] ?? '' }
  if (slot.file && port.upload) return await port.upload(slot.file, posting)
  return await port.post(slot.bubble, posting)
}

/** Without `remove` as little is left of it as can be. */
async function takeAway(ref: MessageRef, { port, chat, signal, render, words }: HandsOptions): Promise<void> {
  if (port.remove) return await port.remove(ref, { chat, signal })
  const bubble = { ...render(words.removed), isPlain: false, source: words.removed, buttons: [] }
  await port.edit?.(ref, bubble, { chat, signal })
}

/** The first message answers the one that asked; the last word, what it is the end of. */
function replyToOf({ slot }: Post, { entries }: Ledger, { replyTo }: HandsOptions): MessageRef | undefined {
  if (slot.key === 'done') return entries.findLast(({ type, ref }) => type === 'answer' && ref)?.ref ?? replyTo
  const isFirst = entries.every(({ key }) => key === slot.key)
  return isFirst || slot.card.type === 'ending' || slot.key === 'answer#0' ? replyTo : undefined
}

/** What a port throws that is no error of its own says nothing of whether it was done. */
export function toPortError(error: unknown): PortError {
  if (error instanceof PortError) return error
  const words = error instanceof Error ? error.message : String(error)
  return new PortError('ambiguous', `The port failed without saying how: ${words}`, { cause: error })
}
