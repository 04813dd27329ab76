// An observer of one's own: every method is optional; here it rings the bell when somebody is needed, on any session.
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/observer.ts
import { connect, type ReplyObserver } from '@reply/core'

const attention: ReplyObserver = {
  replyStarted: ({ reply }) => console.log(`${reply.sessionID} started`),
  questionAsked: ({ ask }) =>
    console.log(`\u0007it asks: ${ask.questions.map(({ question }) => question).join(' · ')}`),
  permissionAsked: ({ ask, reply }) => {
    // A sub-agent's ask reaches the reply that a person started, at any depth.
    const who = ask.sessionID === reply.sessionID ? 'it' : 'a sub-agent'
    console.log(`\u0007${who} wants to use ${ask.permission}: ${ask.title}`)
  },
  partFinalized: ({ part }) => {
    if (part.type === 'text' && !part.synthetic) console.log(part.text)
  },
  replySettled: ({ reply, outcome }) => console.log(`${outcome}: ${reply.prompt?.text ?? reply.sessionID}`),
}

const opencode = connect({ onError: (error) => console.error(error.message) })
const stop = opencode.watch({}, { observe: () => [attention] })
console.log('watching; Control-C ends it')

process.once('SIGINT', () => {
  stop()
  void opencode.close()
})
