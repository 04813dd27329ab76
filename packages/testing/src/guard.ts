import { spawn } from 'node:child_process'

/** Cleans up behind a process that could not do it itself. */
export interface Guard {
  /** From now on this server goes down with us; undefined when it has ended. */
  watch(pid: number | undefined): void
  /** There is nothing left to clean up. */
  dismiss(): void
}

// Runs in a process of its own, in plain JavaScript since it is handed over as text. Its stdin ends when we do, however
// we do: no exit or signal handler would see a SIGKILL, which is how test runners end their workers.
const program = `
const { rmSync } = require('node:fs')
const root = process.argv[1]
let watched = 0
let said = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  said += chunk
  const lines = said.split('\\n')
  said = lines.pop()
  if (lines.length > 0) watched = Number(lines.at(-1))
})
process.stdin.on('end', () => {
  try {
    if (watched > 0) process.kill(process.platform === 'win32' ? watched : -watched, 'SIGKILL')
  } catch {}
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
})
`

/** Starts the guard of a throw-away folder and of the server that runs in it. */
export const startGuard = (root: string): Guard => {
  // Detached: a Control-C in the terminal goes to the whole group and must not end the guard before it has cleaned up.
  const child = spawn(process.execPath, ['-e', program, root], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  // What the guard can't be told any more is told by its end.
  child.stdin.on('error', () => {})
  child.on('error', () => {})
  child.unref()
  return {
    watch: (pid = 0) => {
      child.stdin.write(`${pid}\n`)
    },
    dismiss: () => {
      child.kill('SIGKILL')
    },
  }
}
