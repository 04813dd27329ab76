import { createMemoryState } from '@chat-adapter/state-memory'
import { Chat } from 'chat'
import type { Timeline } from './timeline.ts'

/** A silent logger: failures show on the screen. */
export const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

/** Vercel's Chat SDK with its own adapter and defaults, fed a reply's text over its timeline. */
export async function postThrough(
  adapter: unknown,
  threadId: string,
  { texts }: Timeline,
  start: number,
): Promise<void> {
  const [name = ''] = threadId.split(':')
  const chat = new Chat({
    userName: 'bot',
    adapters: { [name]: adapter as never },
    state: createMemoryState(),
    logger: 'silent',
  })
  await chat.initialize()
  try {
    await chat
      .thread(threadId)
      .post(piecesOf(texts, start))
      .catch(() => undefined)
  } finally {
    await chat.shutdown()
  }
}

/** Yields each addition to the text at its time. */
async function* piecesOf(texts: Timeline['texts'], start: number): AsyncGenerator<string> {
  let said = ''
  for (const { atMs, text } of texts) {
    const waitMs = atMs - (performance.now() - start)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (text.startsWith(said) && text !== said) yield text.slice(said.length)
    if (text.startsWith(said)) said = text
  }
}
