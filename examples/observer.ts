// An observer of your own: every method is optional. This one rings the bell when an ask waits, on any session. Its policy is to
// answer nothing: asks are left to other clients.
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/observer.ts
import { type Ask, askDetails, askTitle, connect, escapeInvisible, type ReplyObserver } from '@reply/core'

const attention: ReplyObserver = {
  replyStarted: ({ reply }) => console.log(`${reply.sessionID} started`),
  questionAsked: ({ ask }) =>
    console.log(`\u0007it asks: ${ask.questions.map(({ question }) => escapeInvisible(question)).join(' · ')}`),
  permissionAsked: ({ ask, reply }) => {
    // A sub-agent's ask reaches the reply that a person started, at any depth.
    const who = ask.sessionID === reply.sessionID ? 'it' : 'a sub-agent'
    console.log(`\u0007${who} asks for a permission`)
    showDetails(ask)
  },
  // What a permission would run often becomes known only after it was asked.
  askChanged: ({ ask }) => showDetails(ask),
  partFinalized: ({ part }) => {
    if (part.type === 'text' && !part.synthetic) console.log(part.text)
  },
  replySettled: ({ reply, outcome }) => console.log(`${outcome}: ${reply.prompt?.text ?? reply.sessionID}`),
}

/** Prints everything that a permission would run. Its patterns omit parts of a command. Does nothing for a question. */
function showDetails(ask: Ask): void {
  if (ask.type === 'question') return
  console.log(askTitle(ask))
  for (const { label, text } of askDetails(ask) ?? []) console.log(label === '' ? text : `${label}: ${text}`)
}

const client = connect({ onError: (error) => console.error(error.message) })
const stop = client.watch({}, { observe: () => [attention] })
console.log('watching; press Control-C to stop')

process.once('SIGINT', () => {
  stop()
  void client.close()
})
