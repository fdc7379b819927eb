/**
 * k6/x/omnigraph: load for an omnigraph graph server, over pooled HTTP and through one CLI process per call, in one
 * script and with standard k6 metrics.
 */
declare module 'k6/x/omnigraph' {
  /** How an operation travels. */
  export type Transport = 'http' | 'cli';

  /** What kind of operation a result or an `op` tag speaks of. */
  export type Op =
    | 'query'
    | 'mutate'
    | 'invoke'
    | 'load'
    | 'snapshot'
    | 'schema'
    | 'branches'
    | 'branch_create'
    | 'branch_delete'
    | 'branch_merge'
    | 'commits'
    | 'queries'
    | 'graphs'
    | 'export'
    | 'health'
    | 'version'
    | 'optimize'
    | 'cleanup'
    | 'repair';

  /** What went wrong. docs/reference.md says for each what leads to it. */
  export type ErrorKind =
    | 'unauthorized'
    | 'forbidden'
    | 'not_found'
    | 'graph_unavailable'
    | 'bad_request'
    | 'conflict_stale'
    | 'conflict_key'
    | 'conflict'
    | 'merge_conflict'
    | 'precondition_failed'
    | 'admission_capped'
    | 'resource_limit'
    | 'recovery_required'
    | 'needs_repair'
    | 'store_quarantined'
    | 'version_mismatch'
    | 'index_rebuild_required'
    | 'unavailable'
    | 'connect'
    | 'timeout'
    | 'canceled'
    | 'protocol'
    | 'spawn_failed'
    | 'cli_exit'
    | 'cli_signal'
    | 'output_limit'
    | 'unsupported'
    | 'internal';

  /** Milliseconds, or a text such as '30s', '1m30s', '250ms'. */
  export type Duration = number | string;

  export type JSONValue = string | number | boolean | null | JSONValue[] | { [key: string]: JSONValue };

  /** A query's parameters by name, without the dollar sign. */
  export type Params = { [name: string]: JSONValue | undefined };

  /** A row as the server returns it; columns are named as in the query's return clause. */
  export type Row = { [column: string]: any };

  /** When and how failed attempts are repeated. Off unless given. */
  export interface Retry {
    /** Attempts in all, the first included. Default 3. */
    maxAttempts?: number;
    /** Gives up once the next attempt would begin later than this. Default 30s. */
    maxElapsed?: Duration;
    /** The bound of the first wait; it doubles, and the wait is uniform between 0 and the bound. Default 100ms. */
    baseDelay?: Duration;
    /** The largest bound. Default 5s. */
    maxDelay?: Duration;
    /**
     * Retries per operation that this k6 may spend on an error kind in the long run. It begins with an allowance of 10
     * retries, and saves up no more than that and one operation's share. No limit unless given.
     */
    budget?: number;
    /**
     * Repeats these kinds only, none if the list is empty, also such as are not retryable. By default all whose errors are retryable. bad_request,
     * unsupported and canceled are refused: the same operation would fail again.
     */
    kinds?: Exclude<ErrorKind, 'bad_request' | 'unsupported' | 'canceled'>[];
    /** Also repeats writes whose outcome is unknown, which may then be done twice; if the last attempt is refused, the
     * outcome stays unknown. Default false. */
    indeterminate?: boolean;
  }

  /** Options that both clients take, and every call. */
  export interface CommonOptions {
    /** The graph on the server. */
    graph?: string;
    /** The bearer token, or a list of which each VU takes its own. */
    token?: string | string[];
    /** The branch that is read or written. By default the server's: main. */
    branch?: string;
    /** Further tags on every sample of the operation. */
    tags?: { [name: string]: string | number | boolean };
    /** Bounds one attempt. Default 60s. */
    timeout?: Duration;
    /** Throws an error instead of returning a failed result. Default false. */
    throw?: boolean;
    /** Repeats failed attempts. Default false. */
    retry?: Retry | false;
    /**
     * Holds parameters against the query's own header before sending; those of a stored query against the server's
     * catalog, which is read once, over HTTP, where the token may. Default true.
     */
    checkParams?: boolean;
  }

  export interface HTTPOptions extends CommonOptions {
    /** The server's address, http:// or https://. */
    url?: string;
    /**
     * A JSON file of tokens in place of token: an object by actor, as a rig's tokens.json, or a list. Each VU takes its
     * own, in the order of the actors' names. Read in the init context, as open() reads.
     */
    tokensFile?: string;
    /** Reads the graph as of this commit. */
    snapshot?: string;
    /** The version of the server's HTTP contract. 'auto' (the default) sends none until the server asks for one. */
    apiVersion?: string;
    /** Further headers on every request. */
    headers?: { [name: string]: string };
    /** The VU's own connections ('vu', the default), or one pool for the whole k6 and server ('shared'), which keeps none open with noConnectionReuse or noVUConnectionReuse. */
    pool?: 'vu' | 'shared';
    /** The size of the shared pool, with pool: 'shared' only. Default 100. */
    maxConnections?: number;
  }

  export interface CLIOptions extends CommonOptions {
    /** The server that the CLI talks to, http:// or https://. */
    server?: string;
    /**
     * A JSON file of tokens in place of token: an object by actor, as a rig's tokens.json, or a list. Each VU takes its
     * own, in the order of the actors' names. Read in the init context, as open() reads.
     */
    tokensFile?: string;
    /** The graph's storage: a local path, file:// or s3://, without user and password. optimize, cleanup and repair need it. */
    store?: string;
    /** Reads the graph as of this commit. */
    snapshot?: string;
    /** The CLI's path or name. Default 'omnigraph', from PATH. */
    bin?: string;
    /** Further arguments for every call. */
    args?: string[];
    /** Further environment variables for the process. */
    env?: { [name: string]: string };
    /** OMNIGRAPH_HOME of the process. By default an empty folder. */
    home?: string;
    /** How many CLI processes may run at once in this k6. Default 64. */
    maxProcesses?: number;
    /** What one process may print, in bytes, before it is killed. Default 67108864. */
    maxOutputBytes?: number;
  }

  /** Options of one call. */
  export interface CallOptions extends CommonOptions {
    /** The value of the tags `query` and `name`. By default the query's own name, else the operation. */
    name?: string;
    /** What one CLI process may print, in bytes, before it is killed. */
    maxOutputBytes?: number;
  }

  export interface ReadOptions extends CallOptions {
    /** Reads the graph as of this commit. */
    snapshot?: string;
  }

  export interface MutateOptions extends CallOptions {
    /** Makes the mutation conditional on the branch's head (servers from 0.10). */
    ifCommit?: string;
  }

  export interface ManyOptions extends CallOptions {
    /** How many rows go into one commit. Default 500. */
    maxRows?: number;
    /** How large one request may be, in bytes; a row that is larger goes alone. Default 900000. */
    maxBytes?: number;
  }

  /** What mutateMany came to. It stops at the first batch that fails. */
  export interface ManyResult {
    readonly ok: boolean;
    /** How many commits were made. */
    readonly commits: number;
    /** How many rows they hold. */
    readonly acknowledged: number;
    readonly affectedNodes: number;
    readonly affectedEdges: number;
    /** The sum of the batches' durations, in milliseconds, with those that the server refused as too large. */
    readonly duration: number;
    readonly error: OperationError | null;
    /** One result for each batch that was sent and not split. */
    readonly results: Result[];
  }

  export interface LoadOptions extends CallOptions {
    /** How rows that are there already are treated. Default 'append'. */
    mode?: 'append' | 'merge' | 'overwrite';
    /** Makes the branch from this one if it is not there. */
    from?: string;
  }

  export interface BranchOptions extends CallOptions {
    /** The branch from which a new one is made. */
    from?: string;
  }

  export interface MergeOptions extends CallOptions {
    /** The branch that is merged into. Default main. */
    target?: string;
  }

  export interface ExportOptions extends CallOptions {
    /** The node and edge types to export. All without it. */
    types?: string[];
  }

  export interface CleanupOptions extends CallOptions {
    /** How many versions are left. */
    keep: number;
  }

  /** Why an operation failed. */
  export interface OperationError {
    kind: ErrorKind;
    /** The server's own code, such as 'not_found'. */
    code: string | null;
    /** The HTTP status, 0 where none came. */
    status: number;
    /** The CLI's exit code, -1 where the process did not exit by itself, 0 over HTTP. */
    exitCode: number;
    message: string;
    /** The same operation may succeed if it is sent again unchanged. */
    retryable: boolean;
    /** This was a write, and whether it was done is unknown. With several attempts: after any of them. */
    indeterminate: boolean;
    /** What the server asked to wait, in milliseconds. */
    retryAfter: number | null;
    /** Output was cut off at the limit. */
    truncated: boolean;
  }

  /** What a failed operation throws with `throw: true`. */
  export interface OmnigraphError extends Error, OperationError {
    name: 'OmnigraphError';
    op: Op;
    transport: Transport;
    /** What mutateMany came to until then. */
    result?: ManyResult;
  }

  /** The parts of the last attempt, in milliseconds. */
  export interface Timings {
    /** Waiting on the generator's side: a process slot, a connection of the shared pool, k6's rps limit. */
    queued: number;
    /** The attempt, from the end of that wait to the decoded answer. */
    total: number;
    decode: number;
    /** HTTP: as k6 measures them. */
    blocked?: number;
    connecting?: number;
    tlsHandshaking?: number;
    sending?: number;
    waiting?: number;
    receiving?: number;
    /** CLI: fork and exec, user and system time, and peak resident memory in bytes (0 where not known). */
    spawn?: number;
    cpu?: number;
    maxRss?: number;
  }

  /** What an operation came to. Members are made when they are looked at. */
  export interface Result<R = Row> {
    readonly ok: boolean;
    readonly transport: Transport;
    readonly op: Op;
    /** A query's rows, or the entries of a listing. */
    readonly rows: R[];
    readonly columns: string[];
    readonly rowCount: number;
    readonly affectedNodes: number;
    readonly affectedEdges: number;
    readonly actorId: string | null;
    /** The commit that a write made or a read saw, where the server says. */
    readonly commit: string | null;
    readonly status: number;
    readonly exitCode: number | null;
    /** The operation as the caller waited for it, retries and queueing included, in milliseconds. */
    readonly duration: number;
    readonly timings: Timings;
    readonly attempts: number;
    readonly error: OperationError | null;
    /** The server's whole answer: an object, text for version, null for export. */
    readonly data: any;
  }

  export interface SnapshotEntry {
    entity: 'node' | 'edge';
    type: string;
    rowCount: number;
    version: number;
    path: string;
  }

  export interface Commit {
    id: string;
    branch: string | null;
    version: number;
    parentId: string | null;
    mergedParentId: string | null;
    /** null for commits that optimize or a direct load made. */
    actorId: string | null;
    /** Microseconds since 1970. */
    createdAt: number;
  }

  /** The operations. Each has a twin async… that returns a promise. What a transport lacks fails as `unsupported`. */
  export interface Client {
    query(gq: string, params?: Params, options?: ReadOptions): Result;
    asyncQuery(gq: string, params?: Params, options?: ReadOptions): Promise<Result>;
    mutate(gq: string, params?: Params, options?: MutateOptions): Result;
    asyncMutate(gq: string, params?: Params, options?: MutateOptions): Promise<Result>;
    /**
     * Repeats a mutation of one row for many rows, in few commits; rows are objects of its parameters. A batch that the
     * server refuses as too large (resource_limit), and so has not written, goes in two halves.
     */
    mutateMany(gq: string, rows: Params[], options?: ManyOptions): ManyResult;
    asyncMutateMany(gq: string, rows: Params[], options?: ManyOptions): Promise<ManyResult>;
    /** Runs a stored query by its name. */
    invoke(name: string, params?: Params, options?: ReadOptions): Result;
    asyncInvoke(name: string, params?: Params, options?: ReadOptions): Promise<Result>;
    /** Loads rows: NDJSON text, its bytes, or a list of {type, data} and {edge, from, to, data}. */
    load(rows: string | ArrayBuffer | object[], options?: LoadOptions): Result;
    asyncLoad(rows: string | ArrayBuffer | object[], options?: LoadOptions): Promise<Result>;
    snapshot(options?: CallOptions): Result<SnapshotEntry>;
    asyncSnapshot(options?: CallOptions): Promise<Result<SnapshotEntry>>;
    schema(options?: CallOptions): Result;
    asyncSchema(options?: CallOptions): Promise<Result>;
    branches(options?: CallOptions): Result<string>;
    asyncBranches(options?: CallOptions): Promise<Result<string>>;
    createBranch(branch: string, options?: BranchOptions): Result;
    asyncCreateBranch(branch: string, options?: BranchOptions): Promise<Result>;
    deleteBranch(branch: string, options?: CallOptions): Result;
    asyncDeleteBranch(branch: string, options?: CallOptions): Promise<Result>;
    mergeBranch(source: string, options?: MergeOptions): Result;
    asyncMergeBranch(source: string, options?: MergeOptions): Promise<Result>;
    /** Commits, newest first. */
    commits(options?: CallOptions): Result<Commit>;
    asyncCommits(options?: CallOptions): Promise<Result<Commit>>;
    /** The catalog of stored queries. HTTP only. */
    queries(options?: CallOptions): Result;
    asyncQueries(options?: CallOptions): Promise<Result>;
    /** HTTP only. */
    graphs(options?: CallOptions): Result<{ graph: string; uri: string }>;
    asyncGraphs(options?: CallOptions): Promise<Result<{ graph: string; uri: string }>>;
    /**
     * Exports the graph, as a stream: the callback gets every row in turn; without one the rows are counted. Once a row is
     * on its way to the callback, a failure is not repeated. If the callback throws, the export ends as
     * canceled, which the metrics tell, and the caller gets what it threw. An operation within the callback waits for a
     * connection of a shared pool, or a process, no longer than its timeout: the export holds one itself.
     */
    export(options?: ExportOptions, callback?: (row: any) => void): Result;
    asyncExport(options?: ExportOptions, callback?: (row: any) => void): Promise<Result>;
    /** HTTP only. */
    health(options?: CallOptions): Result;
    asyncHealth(options?: CallOptions): Promise<Result>;
    /** `omnigraph --version`, the spawn floor. CLI only. */
    version(options?: CallOptions): Result;
    asyncVersion(options?: CallOptions): Promise<Result>;
    /** Compacts the store. CLI only. */
    optimize(options?: CallOptions): Result;
    asyncOptimize(options?: CallOptions): Promise<Result>;
    /** Removes old versions. CLI only. */
    cleanup(options: CleanupOptions): Result;
    asyncCleanup(options: CleanupOptions): Promise<Result>;
    /** Tells what a repair would do, and does nothing. CLI only. */
    repair(options?: CallOptions): Result;
    asyncRepair(options?: CallOptions): Promise<Result>;
  }

  /** Operations over pooled HTTP. */
  export class HTTPClient {
    constructor(options?: HTTPOptions);
  }
  export interface HTTPClient extends Client {}

  /** Operations through one CLI process per call. */
  export class CLIClient {
    constructor(options?: CLIOptions);
  }
  export interface CLIClient extends Client {}

  /**
   * Makes the client that the address calls for, as omnigraph's own clients choose: http:// and https:// are pooled
   * HTTP; a local path or s3:// is the CLI. An absent address fails at the first operation only.
   */
  export function connect(uri: string | undefined, options?: HTTPOptions | CLIOptions): HTTPClient | CLIClient;

  /**
   * Runs each callback once and records the differences between the first and every other variant. The order rotates
   * by VU and iteration. Gives what each variant took, in milliseconds: the time in which at least one of its operations
   * was under way. Of asynchronous callbacks, whatever the VU does until one is settled counts as its.
   */
  export function compare<V extends { [name: string]: () => unknown }>(variants: V): Compared<V>;

  /** What each variant took: a promise of it as soon as one of the callbacks gives a promise. */
  export type Compared<V extends { [name: string]: () => unknown }> =
    Extract<ReturnType<V[keyof V]>, PromiseLike<unknown>> extends never ? { [name in keyof V]: number } : Promise<{ [name in keyof V]: number }>;

  export interface LevelOptions {
    /** The length of each level; exclusive with iterations. */
    duration?: Duration;
    /** Iterations of each level, shared by its VUs, at least one for each; exclusive with duration. */
    iterations?: number;
    /** A scenario with the tag phase: 'warmup' before each level. Default none. */
    warmup?: Duration;
    /** The exported function that a level runs. Default 'default'. */
    exec?: string;
    /** The scenarios' names begin with it. Default 'workers'. */
    name?: string;
    /**
     * How long a level of iterations may take: a slower one is cut off there, its remaining iterations are dropped, and the
     * next level starts only then, however early this one is done (k6 starts scenarios at fixed times). Default 10m, with a
     * warning. Where levels are to follow each other as soon as they are done, use sequence().
     */
    maxDuration?: Duration;
    /** When the first level starts. Default 0. */
    startTime?: Duration;
    /** The pause between two levels, and what running iterations get to finish. Default 1s. */
    gap?: Duration;
    /** Further tags of the scenarios; workers and phase are set by levels itself. */
    tags?: { [name: string]: string };
    env?: { [name: string]: string };
  }

  /** Makes k6 scenarios, one for each number of VUs, that follow each other and carry the tags workers and phase. */
  export function levels(levels: number[], options: LevelOptions): { [scenario: string]: any };

  export interface TurnOptions {
    /** How many turns make up the step. Default 1. */
    of?: number;
    /** How many VUs take part; measuring begins once all are warm. Default 1. */
    workers?: number;
    /** How often each VU calls the function before its first turn, with the tag phase: 'warmup'. Default 0. */
    warmup?: number;
  }

  export interface Sequence {
    /** Waits until the step's time has come, calls fn once, and counts the turn. */
    turn<T>(step: string, options: TurnOptions, fn: () => T): T;
  }

  /**
   * Lets scenarios that start together take turns: a step begins once the one before has done all its turns. Steps that
   * the test has no scenario for, as in an archive made elsewhere, are left out. Turns are counted within one process:
   * with --execution-segment a turn throws.
   */
  export function sequence(name: string, steps: string[]): Sequence;

  export interface State {
    rows: { [type: string]: number };
    commits: number | null;
    commitsSinceOptimize: number | null;
    dataFiles: number | null;
  }

  export interface RecordOptions {
    /** The record's name; it goes to results/NAME unless dir says otherwise. */
    name: string;
    dir?: string;
    /** A level for each factor that is known, of five classes: docs/reports.md lists them. */
    run?: { [cls in 'data' | 'state' | 'workload' | 'environment' | 'protocol']?: { [factor: string]: string | number } };
    /** The dataset's identity, as the rig exports it in OMNIGRAPH_DATASET, or any text. */
    dataset?: string | object;
    /** What only the script knows of the system under test. It is part of what makes two records comparable. */
    system?: {
      server?: string;
      cli?: string;
      apiVersion?: string;
      /** A debug build makes the run invalid. */
      build?: 'release' | 'debug' | '';
      backend?: string;
      config?: { [name: string]: string | number };
    };
    /** Shared by runs that belong together, such as the generators of one test. */
    session?: string;
    /** The script's own settings, kept in the record. */
    settings?: { [name: string]: any };
    /**
     * Scenarios that go beyond the capacity on purpose, as the steps of a capacity search do: that one breaks its
     * schedule, or that its operations fail, is its result and does not make the run invalid.
     */
    probes?: string[];
  }

  export interface Recording {
    /** Asks the client what its store holds before the measurement, and notes it. Call it in setup(). */
    before(client: Client): State | null;
    /** The same after the measurement, in teardown(). */
    after(client: Client): State | null;
    /** Notes that something happened just now and took some milliseconds. */
    event(kind: string, text: string, took?: number): void;
    /** Keeps a value for the script's own section of the report. */
    extra(section: string, value: any): void;
    /**
     * Why this run will leave no record, because its folder takes no file or is another run's, or null. Known once the test
     * has begun: setup() can ask, and end the run before it sends anything. In the init context it is null.
     */
    problem(): string | null;
    /** Sets the relative A/A noise floor that an A/A run found, a share from 0 to 1 such as 0.02. */
    noiseFloor(share: number): void;
  }

  /** Describes the run and says where its record goes. Call it in the init context. */
  export function record(options: RecordOptions): Recording;

  /** What handleSummary returns: the report on stdout; the record and report.md are written at the end of the run. */
  export function report(data: any, options?: { metrics?: boolean }): { [destination: string]: string };
}
