// A bot on Chat SDK whose answers come from a coding agent, here on Telegram. Its other adapters work the same way.
//   TELEGRAM_BOT_TOKEN=… TELEGRAM_ALLOWED_USER_IDS=123456789 npx tsx examples/chat-sdk.ts
import { createMemoryState } from '@chat-adapter/state-memory'
import { createTelegramAdapter } from '@chat-adapter/telegram'
import { type Ask, connect } from '@reply/core'
import { type Adapter, Chat, type Thread } from 'chat'

interface Conversation {
  /** The session that answers in this thread. */
  readonly sessionID?: string | undefined
}

// A prompt can run commands on this machine, and the adapter lets everybody in if it knows no names.
if (!process.env.TELEGRAM_ALLOWED_USER_IDS)
  throw new Error('Set TELEGRAM_ALLOWED_USER_IDS to the ids of those who may prompt.')

const agent = connect()
const bot = new Chat<Record<string, Adapter>, Conversation>({
  userName: 'reply',
  // @ts-expect-error With exactOptionalPropertyTypes, as in this repository, the adapter's types don't fit those of `Chat`.
  adapters: { telegram: createTelegramAdapter({ mode: 'polling' }) },
  // After a restart, a thread begins a new session. Another state of Chat SDK keeps it.
  state: createMemoryState(),
  logger: 'warn',
})

async function respond(thread: Thread<Conversation>, { text }: { readonly text: string }): Promise<void> {
  const { sessionID } = (await thread.state) ?? {}
  const stream = agent.prompt(
    { text, sessionID },
    { observe: () => [{ permissionAsked: refuse, questionAsked: refuse }] },
  )
  await thread.startTyping()
  // A post without text fails, and so does a long one on some platforms. The reply goes on without it.
  const posted = await thread.post(stream.text).then(
    () => undefined,
    (error: unknown) => error,
  )
  const reply = await stream.result
  await thread.setState({ sessionID: reply.sessionID })
  const why = reply.error?.message ?? reply.outcome
  if (reply.outcome !== 'completed') await thread.post(`The run ended as ${reply.outcome}: ${why}`)
  else if (posted !== undefined) await thread.post('The answer could not be shown here, or has no text.')
}

/** Answers for people: a thread of Chat SDK has no place where they would see all that they allow. */
async function refuse({ ask }: { readonly ask: Ask }): Promise<void> {
  // Fails if it was answered elsewhere.
  await agent.reject(ask, 'Nobody can be asked here. Do without it.').catch(() => {})
}

bot.onDirectMessage(respond)
bot.onNewMention(respond)
await agent.ready
await bot.initialize()
process.once('SIGINT', async () => {
  await bot.shutdown()
  await agent.close()
})
