import { readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import process from 'node:process'

/*
 * Loaded into a bridge with `--import`. Once the file STOP_IN exists, stops the process right before it makes the call that the
 * file names, as "editMessageText:2" for the second of them: its last check is over by then, and nothing is sent yet. Removes the
 * file when it has read it, so that the next one counts anew.
 */
const { STOP_IN = '' } = process.env
let name = ''
let left = 0

function meet(address) {
  try {
    const [call, nth] = readFileSync(STOP_IN, 'utf8').split(':')
    rmSync(STOP_IN)
    name = call
    left = Number(nth)
  } catch {
    // There is none.
  }
  if (left === 0 || !String(address).includes(name)) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGSTOP')
}

// grammY's way.
const { request } = http
http.request = (options, ...rest) => {
  meet(options.path ?? options)
  return request(options, ...rest)
}
// The server's client's.
const { fetch } = globalThis
globalThis.fetch = async (input, init) => {
  if ((init?.method ?? input.method) === 'POST') meet(input.url ?? input)
  return await fetch(input, init)
}
