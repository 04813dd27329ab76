// Serves a page with React's useChat before a real OpenCode server with a scripted model. Needs no token and no network.
//   npm run demo:web -- [--port 4321]
import { parseArgs } from 'node:util'

const usage = 'Usage: npm run demo:web -- [--port <number>]\n'
/** How long the shutdown may take, in ms. The process exits then in any case. */
const patienceMs = 8000
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

if (process.argv.includes('--help')) {
  process.stdout.write(usage)
  process.exit(0)
}
const port = portIn(process.argv.slice(2))
if (port === undefined) {
  process.stderr.write(usage)
  process.exit(2)
}

process.stdout.write('Starting a real OpenCode server with a scripted model, and bundling the page …\n')
// Loaded after the first output, because it takes seconds on a busy machine.
const starting = import('./demo.ts').then(
  async ({ startWebDemo }) =>
    await startWebDemo({ port, onError: ({ message }) => process.stderr.write(`! ${message}\n`) }),
)
let isEnding = false
for (const [signal, code] of Object.entries(signals)) process.on(signal, () => void end(code))

starting.then(
  ({ url, version, assistantUi }) => {
    if (isEnding) return
    process.stdout.write(`OpenCode ${version} is running. Open ${url} in a browser; Control-C ends all.\n`)
    process.stdout.write(
      assistantUi
        ? `The same with assistant-ui: ${assistantUi}\n`
        : 'To see it with assistant-ui, too, run `node scripts/setup.mjs --peers` once (about 800 MB), and start again.\n',
    )
  },
  (error: unknown) => {
    process.stderr.write(`The demo could not start: ${error instanceof Error ? error.message : String(error)}\n`)
    void end(1)
  },
)

/** Closes the demo, also one that is still starting, and exits with the code, at the latest after `patienceMs`. */
async function end(code: number): Promise<void> {
  if (isEnding) return
  isEnding = true
  setTimeout(() => process.exit(code), patienceMs).unref()
  await starting.then(
    (demo) => demo.close(),
    () => undefined,
  )
  process.exit(code)
}

/** Returns the port in the arguments, 0 if none is given. Undefined if the arguments are invalid. */
function portIn(args: readonly string[]): number | undefined {
  try {
    const { values } = parseArgs({ args: [...args], options: { port: { type: 'string', default: '0' } } })
    const number = Number(values.port)
    return Number.isInteger(number) && number >= 0 && number < 65_536 ? number : undefined
  } catch {
    return undefined
  }
}
