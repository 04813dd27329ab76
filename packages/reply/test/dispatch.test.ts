import { type Change, createDispatcher, emptyReply, type ReplyError } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { changeTypes, observing } from './observing.ts'

const reply = emptyReply('ses_1')
const started: Change = { type: 'replyStarted' }
const settled: Change = { type: 'replySettled', outcome: 'completed' }
const step = (...changes: Change[]) => ({ reply, changes, raw: 'wire' })

function dispatching() {
  const errors: ReplyError[] = []
  return { errors, ...createDispatcher({ onError: (error) => errors.push(error) }) }
}

describe('an observer', () => {
  test('receives each change in order, with the reply and the wire event', () => {
    const heard: unknown[] = []
    const { observe, dispatch } = dispatching()
    observe({ replyStarted: (told) => heard.push(told), replySettled: (told) => heard.push(told) })
    dispatch(step(started, settled))
    expect(heard).toEqual([
      { type: 'replyStarted', reply, raw: 'wire' },
      { type: 'replySettled', outcome: 'completed', reply, raw: 'wire' },
    ])
  })

  test('without a method for a change is not called', () => {
    const { observe, dispatch, errors } = dispatching()
    observe({})
    dispatch(step(started, settled))
    expect(errors).toEqual([])
  })

  test('may be an instance of a class, and keeps its this', () => {
    class Counter {
      count = 0
      replyStarted() {
        this.count += 1
      }
    }
    const counter = new Counter()
    const { observe, dispatch } = dispatching()
    observe(counter)
    dispatch(step(started))
    expect(counter.count).toBe(1)
  })

  test('receives every type of change in its own method', () => {
    const heard: string[] = []
    const { observe, dispatch } = dispatching()
    observe(observing((change) => heard.push(change.type)))
    // Only the types matter here.
    for (const type of changeTypes) dispatch(step({ ...settled, type } as Change))
    expect(heard).toEqual(changeTypes)
  })

  test('receives nothing before it was added or after it was stopped', () => {
    const heard: string[] = []
    const { observe, dispatch } = dispatching()
    dispatch(step(started))
    const stop = observe(observing((change) => heard.push(change.type)))
    stop()
    stop()
    dispatch(step(settled))
    expect(heard).toEqual([])
  })

  test('that is added twice is stopped one at a time', () => {
    let count = 0
    const observer = {
      replyStarted: () => {
        count += 1
      },
    }
    const { observe, dispatch } = dispatching()
    const stop = observe(observer)
    observe(observer)
    stop()
    stop()
    dispatch(step(started))
    expect(count).toBe(1)
  })

  test('that stops itself or another in mid-call leaves the others unaffected', () => {
    const heard: string[] = []
    const { observe, dispatch } = dispatching()
    const stops: (() => void)[] = [
      observe({
        replyStarted: () => {
          for (const stop of stops) stop()
        },
      }),
      observe({ replyStarted: () => heard.push('second') }),
      observe({ replyStarted: () => heard.push('third') }),
    ]
    dispatch(step(started))
    dispatch(step(started))
    expect(heard).toEqual(['second', 'third'])
  })
})

describe('an observer that fails', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    [
      'throws something other than an error',
      () => {
        throw 'broken'
      },
    ],
  ])('because it %s is reported, and the others continue', async (_, replyStarted) => {
    const heard: string[] = []
    const { observe, on, dispatch, errors } = dispatching()
    observe({ replyStarted: () => heard.push('before') })
    observe({ replyStarted, replySettled: () => heard.push('itself') })
    on('replyStarted', replyStarted)
    observe({ replyStarted: () => heard.push('after') })
    dispatch(step(started, settled))
    await Promise.resolve()
    expect(heard).toEqual(['before', 'after', 'itself'])
    expect(errors).toHaveLength(2)
    for (const error of errors)
      expect(error).toMatchObject({ type: 'observer', message: expect.stringMatching(/replyStarted: broken/) })
  })

  test('with a value that cannot be stringified is still reported', () => {
    const { observe, dispatch, errors } = dispatching()
    const cause = Object.create(null)
    observe({
      replyStarted: () => {
        throw cause
      },
    })
    dispatch(step(started))
    expect(errors).toMatchObject([{ type: 'observer', cause }])
  })

  test('while its method is read is reported, and the others continue', () => {
    const heard: string[] = []
    const { observe, dispatch, errors } = dispatching()
    observe({
      get replyStarted(): never {
        throw new Error('broken')
      },
    })
    observe({ replyStarted: () => heard.push('after') })
    dispatch(step(started))
    expect(heard).toEqual(['after'])
    expect(errors).toMatchObject([{ type: 'observer', message: expect.stringMatching(/replyStarted: broken/) }])
  })

  test.each([[null], [undefined], ['a word']])('because it is %j is reported once and left out', (none) => {
    const heard: string[] = []
    const { observe, dispatch, errors } = dispatching()
    // JavaScript callers can pass this.
    const stop = observe(none as never)
    observe({ replyStarted: () => heard.push('after') })
    dispatch(step(started, settled))
    stop()
    expect(heard).toEqual(['after'])
    expect(errors).toMatchObject([{ type: 'observer', message: expect.stringContaining('is not an observer') }])
  })

  test('without a listener for errors fails silently', () => {
    const { observe, dispatch } = createDispatcher()
    observe({
      replyStarted: () => {
        throw new Error('broken')
      },
    })
    expect(() => dispatch(step(started))).not.toThrow()
  })
})

describe('on', () => {
  test('receives one type of change until stopped', () => {
    const heard: unknown[] = []
    const { on, dispatch } = dispatching()
    const stop = on('replySettled', (told) => heard.push(told))
    dispatch(step(started, settled))
    stop()
    dispatch(step(settled))
    expect(heard).toEqual([{ type: 'replySettled', outcome: 'completed', reply, raw: 'wire' }])
  })

  test('is called after the observers, in the order of the changes', () => {
    const heard: string[] = []
    const { on, observe, dispatch } = dispatching()
    on('replyStarted', () => heard.push('on'))
    observe({ replyStarted: () => heard.push('observer'), replySettled: () => heard.push('end') })
    dispatch(step(started, settled))
    expect(heard).toEqual(['observer', 'on', 'end'])
  })
})
