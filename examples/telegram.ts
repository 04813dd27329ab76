// A Telegram bot: a message is a prompt, buttons or texts answer questions, /stop aborts, /new starts a new session.
//   TELEGRAM_TOKEN=… TELEGRAM_USERS=123,456 OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/telegram.ts
import { connect } from '@reply/core'
import { answerWith, type Inbound, type Running, telegramChannel } from '@reply/telegram'
import { Api } from 'grammy'

const { TELEGRAM_TOKEN: token, TELEGRAM_USERS = '' } = process.env
if (!token) throw new Error('Set TELEGRAM_TOKEN to the token from @BotFather.')

// These people can run commands on your computer; all others are ignored.
const users = new Set(TELEGRAM_USERS.split(','))
const opencode = connect({ onError: ({ message }) => console.error(message) })
const sessions = new Map<string, string>()
const running = new Map<string, Running>()
const placeOf = ({ chat }: Inbound): string => `${chat.id}/${chat.thread ?? ''}`
const answer = answerWith({
  opencode,
  running: (inbound) => [...running].flatMap(([place, one]) => (place === placeOf(inbound) ? [one] : [])),
})

const channel = telegramChannel({
  api: new Api(token),
  updates: 'polling',
  onError: ({ message }) => console.error(message),
  onInbound: async (inbound) => {
    const place = placeOf(inbound)
    if (!users.has(inbound.actor.id))
      return console.error(`${inbound.actor.id} (${inbound.actor.name}) is not in TELEGRAM_USERS.`)
    if (inbound.type === 'text' && inbound.text === '/stop') {
      const target = running.get(place)?.stream ?? sessions.get(place)
      if (target) await opencode.abort(target)
      return await inbound.answer(target ? 'Stopped.' : 'Nothing is running.')
    }
    if ((await answer(inbound)) || inbound.type !== 'text') return
    if (inbound.text === '/new') sessions.delete(place)
    if (inbound.isCommand) return
    if (running.has(place)) return await inbound.answer('Still working: wait, or send /stop.')
    // Replies to that message, and lets only its author answer.
    const sink = channel.sinkFor(inbound)
    const stream = opencode.prompt({ sessionID: sessions.get(place), text: inbound.text }, { observe: () => [sink] })
    running.set(place, { sink, stream })
    const { sessionID } = await stream.result
    running.delete(place)
    sessions.set(place, sessionID)
    const { undelivered } = await sink.settled()
    for (const { key, reason } of undelivered) console.error(`Not shown: ${key} (${reason})`)
  },
})

channel.start()
console.error('Listening. Press Control-C to stop.')
process.once('SIGINT', async () => {
  await channel.stop()
  await opencode.close()
})
