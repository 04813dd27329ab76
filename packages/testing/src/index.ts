export { type BinaryOptions, opencodeBinary } from './binary.ts'
export type { TestClock } from './clock.ts'
export type { OpencodeConfig } from './config.ts'
export { type DemoScenario, demoScenarios } from './demo/scenarios.ts'
export { type Demo, type DemoOptions, startDemo } from './demo/start.ts'
export { TestingError, type TestingFailure } from './error.ts'
export { openCode2Version } from './generation.ts'
export { createHandClock, type HandClock } from './hand-clock.ts'
export { type LaunchOptions, launchOpencode, type OpencodeServer, openCode2Password } from './launch.ts'
export { type ModelRequest, type ScriptedModel, type ScriptedModelOptions, startModel } from './model/start.ts'
export { createProject, type Project } from './project.ts'
export type { ProxyFault, RequestFault, StreamFault, StreamPlace } from './proxy/fault.ts'
export {
  type FaultProxy,
  type PassedFrame,
  type ProxiedRequest,
  type ProxyOptions,
  startProxy,
} from './proxy/server.ts'
export { createRecordedServer, type RecordedServer, type RecordedServerOptions } from './recorded/server.ts'
export {
  listRecordings,
  type RecordedPost,
  type RecordedSession,
  type RecordedState,
  type Recording,
  type RecordingName,
  readRecording,
} from './recordings.ts'
export { promptFor, type Scenario } from './scenario.ts'
export { scenarios, scenariosOf } from './scenarios/scenarios.ts'
export {
  type AnswerPiece,
  callTool,
  cutConnection,
  holdAnswer,
  httpError,
  type ModelAnswer,
  reportUsage,
  type Script,
  type ScriptStep,
  type Scripts,
  sayText,
  scenarioToken,
  think,
} from './script.ts'
export { until } from './until.ts'
export { recordedVersions, type Unsupported, unsupported } from './versions.ts'
