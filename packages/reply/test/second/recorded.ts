import { listRecordings, readRecording } from '@reply/testing'
import { type Fields, isFields } from '../../src/fields.ts'

/** One frame of OpenCode 2. */
export interface Frame {
  readonly id: string
  readonly type: string
  readonly data: Fields
}

/** A session's final state according to its server. */
export interface Told {
  readonly id: string
  readonly info: Fields
  readonly messages: readonly Fields[]
  readonly children: readonly string[]
}

export interface Tape {
  readonly bytes: Uint8Array
  readonly frames: readonly Frame[]
  readonly sessions: readonly Told[]
  readonly watched: readonly unknown[] | undefined
}

export const secondRecordings = listRecordings({ generation: 2 })

export function readTape(scenario: string): Tape {
  const { version = '' } = secondRecordings.find((one) => one.scenario === scenario) ?? {}
  const { bytes, truth, watched } = readRecording({ version, scenario })
  const sessions = Object.entries(truth.sessions).map(([id, told]) => ({ id, ...told }) as unknown as Told)
  return { bytes, frames: framesOf(bytes), sessions, watched }
}

function framesOf(bytes: Uint8Array): readonly Frame[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  return lines.filter((line) => line.startsWith('data:') && line.endsWith('}')).map((line) => JSON.parse(line.slice(5)))
}

/**
 * The frames as 2.0 sends them: what its published traces and source call otherwise than the preview build, what they
 * add and what they leave out. See packages/testing/WIRE-NOTES.md.
 */
export function asStable(frames: readonly Frame[]): string {
  return frames
    .flatMap(stableFrames)
    .map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
    .join('')
}

function stableFrames(frame: Frame): readonly Frame[] {
  const { type, data } = frame
  const as = (name: string, more: Fields): Frame => ({ ...frame, type: name, data: more })
  const added = (name: string, more: Fields): Frame => ({ ...as(name, more), id: `${frame.id}.${name}` })
  switch (type) {
    case 'session.tool.input.delta':
      return []
    case 'session.input.admitted': {
      const { inputID, input, ...rest } = data
      const { data: payload, ...item } = fieldsOf(input)
      return [as('session.inbox.enqueued', { ...rest, inboxID: inputID, item: { ...item, payload } })]
    }
    case 'session.input.promoted': {
      const { inputID, ...rest } = data
      return [as('session.inbox.delivered', { ...rest, inboxID: inputID })]
    }
    case 'session.compaction.admitted': {
      const { inputID, ...rest } = data
      const item = { type: 'compaction', payload: {}, delivery: 'queue' }
      return [as('session.inbox.enqueued', { ...rest, inboxID: inputID, item })]
    }
    case 'session.created': {
      const { info, ...rest } = data
      const { id: _, time: __, ...flat } = fieldsOf(info)
      return [as(type, { ...flat, ...rest })]
    }
    case 'session.step.ended': {
      const { sessionID, assistantMessageID } = data
      return [added('session.step.streamed', { sessionID, assistantMessageID }), frame]
    }
    case 'permission.asked':
      return [as(type, { ...data, ...(data.source !== undefined && { source: renamedCall(fieldsOf(data.source)) }) })]
    case 'form.created': {
      const form = fieldsOf(data.form)
      const metadata = fieldsOf(form.metadata)
      const tool = isFields(metadata.tool) ? { tool: renamedCall(metadata.tool) } : {}
      return [as(type, { form: { ...form, metadata: { ...metadata, ...tool } } })]
    }
    default:
      if (/^session\.execution\.(?:succeeded|failed|interrupted)$/.test(type))
        return [frame, added('session.viewed', { sessionID: data.sessionID, idle: 0 })]
      return [type.startsWith('session.tool.') ? as(type, renamedCall(data)) : frame]
  }
}

function renamedCall({ callID, ...rest }: Fields): Fields {
  return callID === undefined ? rest : { ...rest, id: callID }
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}
