// A reply in the terminal: Markdown, tools, a checklist, and questions answered from the keyboard.
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/console.ts "Tidy up the README"
import { consoleSink } from '@reply/console'
import { connect } from '@reply/core'

const client = connect()
const sink = consoleSink({ client })
const stream = client.prompt({ text: process.argv[2] ?? 'Tidy up the README' }, { observe: () => [sink] })

process.once('SIGINT', () => void stream.abort())
await stream.result
await sink.settled()
await client.close()
