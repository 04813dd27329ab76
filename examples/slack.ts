// A Slack app: a mention is a prompt, its thread a session; questions have buttons and dialogs, Slack's Stop or "/stop" aborts.
//   SLACK_BOT_TOKEN=xoxb-… SLACK_SIGNING_SECRET=… SLACK_USERS=U123,U456 OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/slack.ts
// Slack has to reach it: give the app's Event Subscriptions and Interactivity the public address of port 3000 (PORT). Without
// one take Socket Mode: see packages/slack/README.md.
import { createServer } from 'node:http'
import { connect } from '@reply/core'
import { answerWith, type Inbound, type Running, slackChannel } from '@reply/slack'
import { WebClient } from '@slack/web-api'

const { SLACK_BOT_TOKEN: token, SLACK_SIGNING_SECRET: signingSecret, SLACK_USERS = '' } = process.env
const { PORT = '3000' } = process.env
if (!token || !signingSecret)
  throw new Error("Set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET to the values on the app's page.")

// These people can run commands on your computer; all others are ignored.
const users = new Set(SLACK_USERS.split(','))
const opencode = connect({ onError: ({ message }) => console.error(message) })
const sessions = new Map<string, string>()
const running = new Map<string, Running>()
const placeOf = ({ chat }: Inbound): string => `${chat.id}/${chat.thread ?? ''}`
const answer = answerWith({
  opencode,
  running: (inbound) => [...running].flatMap(([place, one]) => (place === placeOf(inbound) ? [one] : [])),
  session: (inbound) => sessions.get(placeOf(inbound)),
})

const channel = slackChannel({
  // The sink retries what is safe to retry, so the client must not.
  api: new WebClient(token, { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }),
  events: 'http',
  signingSecret,
  onError: ({ message }) => console.error(message),
  onInbound: async (inbound) => {
    const place = placeOf(inbound)
    if (!users.has(inbound.actor.id))
      return console.error(`${inbound.actor.id} (${inbound.actor.name}) is not in SLACK_USERS.`)
    if (inbound.type === 'text' && inbound.text === '/stop') {
      const target = running.get(place)?.stream ?? sessions.get(place)
      if (target) await opencode.abort(target)
      return await inbound.answer(target ? 'Stopped.' : 'Nothing is running.')
    }
    if ((await answer(inbound)) || inbound.type !== 'text') return
    if (inbound.isCommand) return
    if (running.has(place)) return await inbound.answer('Still working: wait, or say /stop.')
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

const server = createServer(channel.listener).listen(Number(PORT))
console.error(`Listening on port ${PORT}. Press Control-C to stop.`)
process.once('SIGINT', async () => {
  server.close()
  await channel.stop()
  await opencode.close()
})
