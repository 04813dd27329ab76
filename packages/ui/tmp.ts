import { readHave } from './src/project/inbound.ts'
import { readAnswers } from './src/index.ts'
import { emptyReply } from '@reply/core'
for (const part of ['{"type":"a"}', '7', '{"type":"text","text":"a","providerMetadata":{"reply":{"part":"a"}}}', '{"type":"dynamic-tool","state":"approval-responded","approval":{"id":"a.b","approved":true}}','{"type":"dynamic-tool","toolCallId":"x","toolName":"y","state":"z"}','{"type":"data-retracted","data":{"parts":["a"]}}']) {
  const n = Math.floor(8*1024*1024/(part.length+1))
  const json = `{"messages":[{"id":"x","role":"assistant","parts":[${Array(n).fill(part).join(',')}]}]}`
  const s0=performance.now(); const body = JSON.parse(json); const s=performance.now()
  readHave(body.messages[0]); const a=performance.now()
  try { readAnswers(body, emptyReply('ses_1')) } catch (e) { console.log(String(e).slice(0,80)) }
  console.log(part.slice(0,40), n, 'json', (s-s0).toFixed(0), 'have', (a-s).toFixed(0), 'answers', (performance.now()-a).toFixed(0))
}
