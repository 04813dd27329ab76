import type { Fields } from '../fields.ts'
import type { AnswerEncoder, Dialect, Frame } from './dialect.ts'
import { contentText, isFields, objectsIn, type Turn } from './request.ts'

/**
 * Google's Gemini API. Requests and streams: https://ai.google.dev/api/generate-content, errors:
 * https://ai.google.dev/gemini-api/docs/troubleshooting
 */
export const gemini: Dialect = {
  isAnswerPath: (path) => /:(?:streamG|g)enerateContent$/.test(path),
  readConversation: (body) => {
    const fields = isFields(body) ? body : {}
    const { systemInstruction, generationConfig } = fields
    const system = isFields(systemInstruction) ? contentText(systemInstruction.parts) : ''
    const tools = objectsIn(fields.tools).flatMap((tool) => objectsIn(tool.functionDeclarations))
    return {
      turns: [{ role: 'system', text: system, calls: false }, ...objectsIn(fields.contents).flatMap(turnsOf)],
      hasTools: tools.length > 0,
      wantsJSON: isFields(generationConfig) && generationConfig.responseMimeType === 'application/json',
    }
  },
  errorBody: (status, message) => ({ error: { code: status, message, status: statusNames[status] ?? 'INTERNAL' } }),
  isJoinedPath: (path) => path.endsWith(':generateContent'),
  joinFrames: (frames) => {
    const chunks = frames.flatMap(({ data }) => (isFields(data) ? [data] : []))
    const candidates = chunks.flatMap(({ candidates: each }) => objectsIn(each))
    const parts = candidates.flatMap(({ content }) => (isFields(content) ? objectsIn(content.parts) : []))
    const last = candidates.at(-1)
    return { ...chunks.at(-1), candidates: [{ ...last, content: { role: 'model', parts } }] }
  },
  createEncoder: ({ number, model }) => createEncoder(`scripted_${number}`, model),
}

const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

/**
 * Returns a content's turns: one for each tool result, then one for the rest, unless that has no text. Tool results are
 * parts of a user's content.
 */
const turnsOf = (content: Fields): readonly Turn[] => {
  const parts = objectsIn(content.parts)
  const results = parts.flatMap(({ functionResponse }) => (isFields(functionResponse) ? [functionResponse] : []))
  const turn: Turn = {
    role: content.role === 'model' ? 'assistant' : 'user',
    text: contentText(parts),
    calls: parts.some(({ functionCall }) => functionCall !== undefined),
  }
  if (results.length === 0) return [turn]
  const answered = results.map(({ response }): Turn => ({ role: 'tool', text: resultText(response), calls: false }))
  return [...answered, ...(turn.text === '' ? [] : [turn])]
}

/** A result's output, else all of it as JSON. */
const resultText = (response: unknown): string =>
  isFields(response) && typeof response.output === 'string' ? response.output : JSON.stringify(response ?? '')

/** Returns the encoder of one answer. Unless the script gives a finish reason, it is `STOP`, also after calls. */
const createEncoder = (responseId: string, modelVersion: string): AnswerEncoder => {
  const frame = (parts: readonly object[], candidateFields: object = {}, chunkFields: object = {}): Frame => ({
    data: {
      candidates: [{ content: { role: 'model', parts }, index: 0, ...candidateFields }],
      modelVersion,
      responseId,
      ...chunkFields,
    },
  })
  return {
    begin: () => [],
    text: (chunks) => chunks.map((text) => frame([{ text }])),
    reasoning: (chunks) => chunks.map((text) => frame([{ text, thought: true }])),
    // The API sends a call whole.
    tool: ({ id, name, pieces }) => [frame([{ functionCall: { id, name, args: JSON.parse(pieces.join('')) } }])],
    end: ({ input, output, cached }, reason) => [
      frame(
        [{ text: '' }],
        { finishReason: reason ?? 'STOP' },
        {
          usageMetadata: {
            promptTokenCount: input,
            candidatesTokenCount: output,
            totalTokenCount: input + output,
            cachedContentTokenCount: cached,
          },
        },
      ),
    ],
  }
}
