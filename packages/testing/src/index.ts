export { type BinaryOptions, cacheFolder, defaultVersion, opencodeBinary } from './binary.ts'
export { atLeast, type OpencodeConfig } from './config.ts'
export { type DemoScenario, demoScenarios } from './demo/scenarios.ts'
export { type Demo, type DemoOptions, startDemo } from './demo/start.ts'
export { TestingError, type TestingFailure } from './error.ts'
export { createHandClock, type HandClock } from './hand-clock.ts'
export { lasting } from './lasting.ts'
export { type LaunchOptions, launchOpencode, type Opencode } from './launch.ts'
export { type Model, type ModelOptions, type ModelRequest, startModel } from './model.ts'
export { createProject, type Project } from './project.ts'
export type { Fault, Place, RequestFault, StreamFault } from './proxy/fault.ts'
export {
  type FaultProxy,
  type PassedFrame,
  type ProxiedRequest,
  type ProxyOptions,
  startProxy,
} from './proxy/server.ts'
export { serve } from './recorded/http.ts'
export { createRecordedServer, type RecordedServer, type RecordedServerOptions } from './recorded/server.ts'
export {
  listRecordings,
  type Posted,
  type Recording,
  type RecordingName,
  readRecording,
  type SessionTruth,
  type Truth,
} from './recordings.ts'
export { type Machine, redact } from './redact.ts'
export { promptFor, type Scenario, type ScenarioOptions, scenario } from './scenario.ts'
export { scenarios } from './scenarios/all.ts'
export {
  cut,
  failure,
  hold,
  type Piece,
  type Pieces,
  reasoning,
  type Script,
  type Scripts,
  type Step,
  scenarioIn,
  scenarioToken,
  text,
  tool,
  usage,
} from './script.ts'
export { recordedVersions, type Unsupported, unsupported, unsupportedReason } from './versions.ts'
