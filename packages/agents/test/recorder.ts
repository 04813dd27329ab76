import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface RecorderOptions {
  /** Who says the lines that are not ours. */
  readonly name: string
  readonly command: string
  /** Where the program and the file go. */
  readonly folder: string
}

/**
 * A program that runs `command` with its arguments, and notes each line of both sides in a file, in order. Lines that
 * are no JSON are noted as text.
 */
export function recorderOf({ name, command, folder }: RecorderOptions) {
  const program = join(folder, 'recorder')
  const log = join(folder, 'recorded.jsonl')
  const script = `#!${process.execPath}
const { spawn } = require('node:child_process')
const { appendFileSync } = require('node:fs')
const { createInterface } = require('node:readline')
const child = spawn(${JSON.stringify(command)}, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}
function pass(from, input, output) {
  createInterface({ input }).on('line', (line) => {
    appendFileSync(${JSON.stringify(log)}, JSON.stringify({ from, line: parsed(line) }) + '\\n')
    output.write(line + '\\n')
  }).on('close', () => output === child.stdin && output.end())
}
pass('us', process.stdin, child.stdin)
pass(${JSON.stringify(name)}, child.stdout, process.stdout)
child.on('close', (code) => { process.exitCode = code ?? 1; process.stdin.destroy() })
`
  writeFileSync(program, script, { mode: 0o755 })
  writeFileSync(log, '')
  return { program, log }
}
