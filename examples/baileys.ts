// WhatsApp through a linked device: a message is a prompt, numbers or texts answer questions, /stop aborts, /new starts a new session.
//   WHATSAPP_NUMBER=491701234567 WHATSAPP_USERS=491709876543@s.whatsapp.net OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/baileys.ts
import { connect } from '@reply/core'
import { answerWith, baileysChannel, type Running } from '@reply/whatsapp'
import { DisconnectReason, makeWASocket, useMultiFileAuthState } from 'baileys'

const { WHATSAPP_NUMBER: number, WHATSAPP_USERS = '' } = process.env
if (!number) throw new Error("Set WHATSAPP_NUMBER to the account's phone number: digits only, with the country code.")

// These people can run commands on your computer; all others are ignored. A person with a hidden number has a LID, as in 222@lid.
const users = new Set(WHATSAPP_USERS.split(','))
const opencode = connect({ onError: ({ message }) => console.error(message) })
const sessions = new Map<string, string>()
const running = new Map<string, Running>()
const answer = answerWith({
  opencode,
  running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
})

const channel = baileysChannel({
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

const { state, saveCreds } = await useMultiFileAuthState('.whatsapp-login')
let isLeaving = false

/** A closed socket can't reopen: the channel gets a new one, and its sinks continue over that. */
function link(to: string): void {
  const socket = makeWASocket({ auth: state })
  channel.setSocket(socket)
  socket.ev.on('creds.update', saveCreds)
  socket.ev.on('connection.update', ({ connection, qr, lastDisconnect }) => {
    if (qr && !state.creds.registered) {
      const code = socket.requestPairingCode(to)
      code.then(
        (digits) => console.error(`Linked devices → with number: ${digits}`),
        (error: Error) => console.error(`No pairing code: ${error.message}`),
      )
    }
    if (connection === 'open') console.error('Linked. Press Control-C to stop.')
    if (connection !== 'close' || isLeaving) return
    const error = lastDisconnect?.error
    if (error && 'output' in error && error.output.statusCode === DisconnectReason.loggedOut)
      return console.error('This device was logged out: remove .whatsapp-login, and link it again.')
    console.error(`Closed: ${error?.message ?? 'no reason given'}. Reconnecting in 5 s.`)
    setTimeout(() => link(to), 5000)
  })
}

link(number)
process.once('SIGINT', async () => {
  isLeaving = true
  await channel.stop()
  await opencode.close()
  process.exit()
})
