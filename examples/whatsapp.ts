// WhatsApp through the Cloud API: a message is a prompt, buttons or texts answer questions, /stop aborts, /new starts a new session.
//   WHATSAPP_TOKEN=… WHATSAPP_PHONE_NUMBER_ID=… WHATSAPP_APP_SECRET=… WHATSAPP_VERIFY_TOKEN=… WHATSAPP_USERS=491701234567 \
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/whatsapp.ts
import { createServer } from 'node:http'
import { connect } from '@reply/core'
import { answerWith, createCloudClient, type Running, whatsappChannel } from '@reply/whatsapp'

const { WHATSAPP_USERS = '', PORT = '8080', ...env } = process.env
const required = (name: string): string => {
  const value = env[name]
  if (!value) throw new Error(`Set ${name}: packages/whatsapp/README.md says where to find it.`)
  return value
}

// These people can run commands on your computer; all others are ignored.
const users = new Set(WHATSAPP_USERS.split(','))
const opencode = connect({ onError: ({ message }) => console.error(message) })
const sessions = new Map<string, string>()
const running = new Map<string, Running>()
const answer = answerWith({
  opencode,
  running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
})

const channel = whatsappChannel({
  client: createCloudClient({
    token: required('WHATSAPP_TOKEN'),
    phoneNumberId: required('WHATSAPP_PHONE_NUMBER_ID'),
  }),
  appSecret: required('WHATSAPP_APP_SECRET'),
  verifyToken: required('WHATSAPP_VERIFY_TOKEN'),
  onError: ({ message }) => console.error(message),
  onInbound: async (inbound) => {
    const { id } = inbound.chat
    if (!users.has(inbound.actor.id))
      return console.error(`${inbound.actor.id} (${inbound.actor.name}) is not in WHATSAPP_USERS.`)
    if (inbound.type === 'text' && inbound.text === '/stop') {
      const target = running.get(id)?.stream ?? sessions.get(id)
      if (target) await opencode.abort(target)
      return await inbound.answer(target ? 'Stopped.' : 'Nothing is running.')
    }
    if ((await answer(inbound)) || inbound.type !== 'text') return
    if (inbound.text === '/new') sessions.delete(id)
    if (inbound.isCommand) return
    if (running.has(id)) return await inbound.answer('Still working: wait, or send /stop.')
    // Only the person who prompted may answer the agent's questions.
    const sink = channel.sinkFor(inbound)
    const stream = opencode.prompt({ sessionID: sessions.get(id), text: inbound.text }, { observe: () => [sink] })
    running.set(id, { sink, stream })
    const { sessionID } = await stream.result
    running.delete(id)
    sessions.set(id, sessionID)
    const { undelivered } = await sink.settled()
    for (const { key, reason } of undelivered) console.error(`Not shown: ${key} (${reason})`)
  },
})

const server = createServer(channel.listener).listen(Number(PORT))
console.error(`Listening on port ${PORT}; Meta needs an https address that forwards here. Press Control-C to stop.`)
process.once('SIGINT', async () => {
  await channel.stop()
  server.close()
  await opencode.close()
})
