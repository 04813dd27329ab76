import { type ContractOptions, portContract, type Stage, type StageFault } from '@reply/sink'
import { type CloudFault, createHandClock, startWhatsApp } from '@reply/testing'
import { describe, test, vi } from 'vitest'
import { createCloudClient, createCloudPort, renderWhatsApp } from '../src/index.ts'
import { person, token } from './cloud.ts'

vi.setConfig({ testTimeout: 60_000 })

const faults: Partial<Readonly<Record<StageFault, CloudFault>>> = {
  'rate-limited': { type: 'rate-limited' },
  refused: { type: 'refused', status: 400, code: 131026 },
  unreachable: { type: 'page', status: 503 },
  unanswered: { type: 'accept-then-drop' },
}

/** A chat of the fake WhatsApp, reached by the real client. */
async function cloudStage(): Promise<Stage> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock })
  let inFlight = 0
  let isBare = true
  const counting: typeof fetch = async (input, init) => {
    inFlight += 1
    // Most clauses post without a pacer, as no chat would take it: here the time that it takes passes by itself.
    if (inFlight === 1 && isBare) await clock.advance(6000)
    try {
      return await fetch(input, init)
    } finally {
      inFlight -= 1
    }
  }
  async function rest(): Promise<void> {
    isBare = false
    const end = performance.now() + 2000
    for (let calm = 0; calm < 3 && performance.now() < end; ) {
      await new Promise((resolve) => setImmediate(resolve))
      calm = inFlight === 0 ? calm + 1 : 0
    }
  }
  const { url: apiUrl, phoneNumberId } = whatsapp
  const client = createCloudClient({ token, phoneNumberId, apiUrl, fetch: counting })
  const asked = whatsapp.say(person, 'The first.')
  return {
    port: createCloudPort({ client, to: person, replyTo: asked, clock }),
    render: renderWhatsApp,
    chat: { id: person },
    clock,
    pass: async (ms) => await clock.advance(ms, rest),
    screen: () =>
      whatsapp
        .screen(person)
        .filter(({ from }) => from === 'business')
        .map(({ id, text, buttons, replyTo }) => ({ id, text, replyTo, isSilent: false, buttons: buttons.map((one) => [one]) })),
    faults: ['rate-limited', 'refused', 'unreachable', 'unanswered'],
    failNext: (fault) => {
      const planned = faults[fault]
      for (const kind of ['text', 'interactive', 'document'] as const) if (planned) whatsapp.inject({ ...planned, kind })
    },
    say: (text) => ({ id: whatsapp.say(person, text) }),
    deleteMessage: (id) => whatsapp.remove(person, id),
    notifications: () => whatsapp.notifications(person),
    secrets: [token],
    close: () => whatsapp.close(),
  }
}

const noEdits = 'the Cloud API has no edits'
const noRemoval = 'the Cloud API takes nothing back'
const noMarkup = 'WhatsApp refuses no markup: what it does not take is shown as it is'
const cloud: ContractOptions['skip'] = {
  'edits in place': noEdits,
  'takes an edit to the same for done': noEdits,
  'rings for no edit': noEdits,
  'tells that a message is gone': noEdits,
  'tells that a message cannot be edited any more': noEdits,
  'tells of edits and removals as of posts': noEdits,
  'takes its status away in the end': noEdits,
  removes: noRemoval,
  'takes the removal of what is gone for done': noRemoval,
  'rings for what is loud alone': 'the Cloud API can post nothing silently',
  'posts once for one key': 'the Cloud API takes no key with a message',
  'shows what nobody confirmed once, under its key': 'the Cloud API takes no key with a message',
  'writes a preview that is no message': 'WhatsApp has no previews',
  'tells that its markup is refused, or does without': noMarkup,
  'shows a reply once when the first post is unparsable': noMarkup,
}

describe('the Cloud API', () => {
  const clauses = portContract({ name: 'the Cloud API', setup: cloudStage, skip: cloud })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
