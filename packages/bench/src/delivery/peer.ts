import { createMemoryState } from '@chat-adapter/state-memory'
import { Chat } from 'chat'
import type { Timeline } from './timeline.ts'

/** Says nothing: what goes wrong is seen on the screen. */
export const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

/** Vercel's Chat SDK with an adapter of its own and its own defaults, given a reply's text as it comes. */
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

/** What is added to the text, when it is. */
async function* piecesOf(texts: Timeline['texts'], start: number): AsyncGenerator<string> {
  let said = ''
  for (const { atMs, text } of texts) {
    const waitMs = atMs - (performance.now() - start)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (text.startsWith(said) && text !== said) yield text.slice(said.length)
    if (text.startsWith(said)) said = text
  }
}
