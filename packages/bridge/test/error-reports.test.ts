import { SinkError } from '@reply/sink'
import { PortError } from '@reply/sink/channel'
import { expect, test } from 'vitest'
import { takenOverError } from '../src/members/membership.ts'
import { createErrorReports, createStoreReports } from '../src/state/state.ts'
import { StoreError } from '../src/store/store.ts'

function setUp() {
  const reported: Error[] = []
  const report = (error: Error): void => void reported.push(error)
  const stopping = new AbortController()
  return { reported, stopping, onError: createErrorReports(report, createStoreReports(report), stopping.signal) }
}

const aborted = new DOMException('This operation was aborted', 'AbortError')
const closed = new StoreError('closed', 'The store is closed. Open it again to use it.')
const busy = new StoreError('busy', 'The database can’t be reached.')
const lost = new SinkError('store', 'The ledger could not be written.', { cause: closed })

test('what a stop cut short is not reported, also as the cause of another error', () => {
  const { reported, stopping, onError } = setUp()
  stopping.abort()
  for (const error of [
    aborted,
    closed,
    takenOverError(),
    new PortError('unreachable', 'Not sent.', { cause: aborted }),
  ])
    onError(error)
  expect(reported).toEqual([])
})

test('a stop reports once that the store can’t be used, and each other error', () => {
  const { reported, stopping, onError } = setUp()
  stopping.abort()
  const full = new StoreError('failed', 'The disk is full.')
  for (const error of [busy, full, busy, lost, full]) onError(error)
  expect(reported).toEqual([busy, full, lost, full])
})

test('before a stop, each error is reported', () => {
  const { reported, onError } = setUp()
  for (const error of [aborted, closed, busy, busy]) onError(error)
  expect(reported).toEqual([aborted, closed, busy, busy])
})
